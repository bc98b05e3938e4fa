"""Metadata in the forms that people have them in; what cannot be told apart in print is left out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.synthesize.cleaning import Unusable, cleaned
from reno_dspy.synthesize.metadata import read_items

WORK = {
    "type": "book", "title": "Salt", "author": [{"family": "Veldt", "given": "AM"}],
    "issued": {"date-parts": [["1999"]]}, "publisher": "Fog Press", "licence": "CC0", "language": "en-GB",
}  # fmt: skip


def write(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def test_a_zotero_export_and_lines_of_items_are_read(tmp_path: Path) -> None:
    lines = tmp_path / "items.jsonl.gz"
    other = WORK | {"title": "Fog", "licence": "CC BY"}
    lines.write_bytes(gzip.compress(json.dumps(other).encode()))
    items, dropped = read_items([write(tmp_path / "library.json", [WORK, WORK]), str(lines)], [])
    assert [item.csl["title"] for item in items] == ["Salt", "Fog"]
    assert dropped == {"duplicate": 1}
    assert items[0].csl["author"] == [{"family": "Veldt", "given": "A. M."}]
    assert (items[0].language, items[0].form, items[0].csl["issued"]) == (
        "en", "book", {"date-parts": [[1999]]},
    )  # fmt: skip
    kept, dropped = read_items([str(tmp_path / "library.json"), str(lines)], ["CC BY"])
    assert ([item.key for item in kept], dropped["licence"]) == (["fog"], 2)


def test_gold_annotations_are_metadata(tmp_path: Path) -> None:
    xml = (
        '<mixed-citation publication-type="book"><string-name><surname>Veldt</surname>, <given-names>A'
        "</given-names></string-name>. <chapter-title>Salt</chapter-title>. In: <source>Fog</source>, "
        "<fpage>1</fpage>-<lpage>9</lpage>. <year>1999</year></mixed-citation>"
    )
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"plaintext": "x", "xml": xml, "licence": "CC0"}), encoding="utf-8")
    (item,), _ = read_items([str(rows)], [])
    assert item.form == "chapter"
    assert item.csl["container-title"] == "Fog"
    assert item.csl["page"] == "1-9"


def test_bibtex_is_read(tmp_path: Path) -> None:
    path = tmp_path / "library.bib"
    path.write_text(
        """@article{a, author = {M{\\"u}ller, Karl and van der Quell, B. and {Institute of Salt}},
        title = {Gew{\\"u}rze \\& Salz}, journal = {J. Fict.}, year = 2010, month = mar, volume = 3,
        number = 4, pages = {1--9}, langid = {ngerman}}
        @techreport{b, author = {Stone, Peter}, title = {On fog}, institution = {Fog Office},
        number = {TR-7}, year = 2001}
        """,
        encoding="utf-8",
    )
    (article, report), _ = read_items([str(path)], [])
    assert article.csl["title"] == "Gewürze & Salz"
    assert article.csl["author"][1] == {
        "family": "Quell", "given": "B.", "non-dropping-particle": "van der",
    }  # fmt: skip
    assert article.csl["author"][2] == {"literal": "Institute of Salt"}
    assert article.csl["issued"] == {"date-parts": [[2010, 3]]}
    assert (article.csl["issue"], article.csl["page"], article.language) == ("4", "1-9", "de")
    assert (report.csl["number"], report.csl["publisher"]) == ("TR-7", "Fog Office")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "is not JSON"),
        ("a.json", '{"a": 1}', "is not an array of CSL-JSON items"),
        ("a.json", '{"items": [{"itemType": "book"}]}', "Export the library as `CSL JSON`"),
        ("a.json", "[]", "No item of"),
        ("a.jsonl", "[1]", "is not a JSON object"),
        ("a.bib", "@article{a, title = ", "is not valid BibTeX"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_items([str(path)], [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": "A"}, "no_title"),
        ({"title": "See https://x.example"}, "odd_title"),
        ({"title": "Half (a bracket"}, "odd_title"),
        ({"author": [{"family": "Veldt and Odd", "given": "A."}]}, "odd_name"),
        ({"author": [{"literal": "Bok, Vaclav and Shaw, Frank"}]}, "doubtful_name"),
        ({"author": [{"literal": "Heng Li"}]}, "doubtful_name"),
        ({"container-title": "“Salt,” In Fog"}, "odd_container"),
    ],
)
def test_a_doubtful_record_is_left_out(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        cleaned(WORK | change, "book")


def test_cleaning_keeps_what_is_printed() -> None:
    clean = cleaned(
        WORK
        | {
            "title": "Kam analiz [Towards an analysis of salt].",
            "author": [{"family": "VELDT", "given": "s. a."}, {"literal": "Ministry of Salt"}],
            "collection-title": "none",
            "DOI": "https://doi.org/10.1000/x.",
            "page": "1--9",
            "volume": "2(1)",
            "container-title": "Fog [Internet]",
        },
        "journal",
    )
    assert (clean["title"], clean["translated-title"]) == (
        "Kam analiz",
        "Towards an analysis of salt",
    )
    assert clean["author"] == [
        {"family": "Veldt", "given": "S. A."}, {"literal": "Ministry of Salt"},
    ]  # fmt: skip
    assert "collection-title" not in clean
    assert (clean["DOI"], clean["page"]) == ("10.1000/x", "1-9")
    assert (clean["volume"], clean["issue"], clean["container-title"]) == ("2", "1", "Fog")
