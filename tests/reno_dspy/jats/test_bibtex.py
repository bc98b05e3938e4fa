"""BibTeX that other programs read back as it was, whatever the values hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybtex.database import parse_string

from reno_dspy.jats.bibtex import BibtexEntries
from reno_dspy.synthesize.bibtex import read_bibtex

FOXES: dict[str, Any] = {
    "id": "ref1", "type": "article-journal", "title": "The role of mRNA in 50% of foxes & geese_1",
    "container-title": "Journal of $ocks #3", "volume": "12", "issue": "3", "page": "200-209",
    "DOI": "10.1000/a_b%c", "URL": "https://example.org/~ito/a_b#c",
    "issued": {"date-parts": [[2010, 5, 7]]},
    "author": [
        {"family": "van der Müller", "given": "K. J.", "suffix": "Jr."},
        {"literal": "Fox and Goose Society, Tokyo"},
        {"given": "Madonna"},
    ],
}  # fmt: skip


def test_an_article() -> None:
    assert (
        BibtexEntries().entry(FOXES)
        == r"""@article{muller2010role,
    author = "van der Müller, Jr., K. J. and {Fox and Goose Society, Tokyo} and Madonna",
    title = "The role of {mRNA} in 50\% of foxes \& geese\_1",
    journal = "Journal of \$ocks \#3",
    volume = "12",
    number = "3",
    pages = "200--209",
    year = "2010",
    month = "may",
    day = "7",
    doi = "10.1000/a_b%c",
    url = "https://example.org/~ito/a_b#c"
}
"""
    )


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(BibtexEntries().entry(FOXES), encoding="utf-8")
    (item,) = read_bibtex(tmp_path / "a.bib")
    assert item["author"] == [
        {"family": "Müller", "given": "K. J.", "suffix": "Jr.", "non-dropping-particle": "van der"},
        {"literal": "Fox and Goose Society, Tokyo"},
        {"family": "Madonna"},
    ]
    for name in ("type", "title", "volume", "issue"):
        assert item[name] == FOXES[name]


@pytest.mark.parametrize(
    ("kind", "field", "bibtex", "entry"),
    [
        ("book", "publisher", "publisher", "book"),
        ("thesis", "publisher", "school", "phdthesis"),
        ("report", "publisher", "institution", "techreport"),
        ("chapter", "container-title", "booktitle", "incollection"),
        ("paper-conference", "container-title", "booktitle", "inproceedings"),
        ("webpage", "container-title", "howpublished", "misc"),
    ],
)
def test_fields_have_the_names_of_their_types(
    kind: str, field: str, bibtex: str, entry: str
) -> None:
    text = BibtexEntries().entry({"id": "a", "type": kind, field: "Salt"})
    (found,) = parse_string(text, "bibtex").entries.values()
    assert (found.type, found.fields[bibtex]) == (entry, "Salt")


def test_keys_are_unique_and_do_not_depend_on_what_comes_later() -> None:
    entries = BibtexEntries()
    items = [FOXES] * 29 + [
        {"id": "x", "type": "document"},
        {"id": "y", "type": "document", "title": "日本"},
    ]
    keys = [re.split("[,\n]", entries.entry(item).partition("{")[2])[0] for item in items]
    assert keys[:3] == ["muller2010role", "muller2010rolea", "muller2010roleb"]
    assert keys[26:29] == ["muller2010rolez", "muller2010roleaa", "muller2010roleab"]
    assert keys[29:] == ["ref", "refa"]
    assert len(set(keys)) == len(keys)


NASTY = st.text(st.sampled_from("\\{}$&%#_~^\"@,=aÄ日 '`-"), min_size=1, max_size=12)


@given(NASTY, NASTY, NASTY)
def test_any_text_stays_inside_its_entry(title: str, name: str, doi: str) -> None:
    entries = BibtexEntries()
    item = FOXES | {"title": title, "DOI": doi, "author": [{"family": name}, {"literal": name}]}
    text = entries.entry(item) + entries.entry(FOXES)
    found = parse_string(text, "bibtex").entries
    assert len(found) == 2
    first, second = found.values()
    assert first.fields["doi"] == " ".join(doi.replace("{", "%7B").replace("}", "%7D").split())
    assert second.fields["year"] == "2010"
    assert len(first.persons["author"]) <= 2
