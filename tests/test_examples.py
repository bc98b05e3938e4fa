"""The sample corpus is what its README says, and its maker reproduces it."""

import csv
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pypdfium2
import pytest
from lxml import etree

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "examples" / "corpus"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def rows(name: str) -> list[dict[str, str]]:
    with (CORPUS / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


ARTICLES = [row["id"] for row in rows("corpus.tsv")]


@cache
def tree(name: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.parse(CORPUS / f"{name}.xml", parser).getroot()


@cache
def pages(name: str) -> list[list[str]]:
    """The lines of each page, as pdfium gives them."""
    with pypdfium2.PdfDocument(CORPUS / f"{name}.pdf") as document:
        return [page.get_textpage().get_text_bounded().splitlines() for page in document]


def squeezed(text: str) -> str:
    """Without white space and hyphens: line breaks and hyphenation leave no trace."""
    return re.sub(r"[\s\-\x02\u00ad\ufffe\u2010]", "", text)


def without_furniture(name: str) -> str:
    """The text without running heads (first line of a page) and page numbers (its end).

    pdfium glues the number to the last line where that ends in a hyphen.
    """
    first = int(tree(name).findtext("front//fpage"))
    lines = []
    for number, page in enumerate(pages(name), first):
        assert page[-1].endswith(str(number))
        lines += [*page[1:-1], page[-1].removesuffix(str(number))]
    return "\n".join(lines)


def references(name: str) -> list[etree._Element]:
    return list(tree(name).iter("ref"))


def test_manifest_lists_every_pair() -> None:
    listed = rows("corpus.tsv")
    assert list(listed[0]) == ["id", "pdf", "xml", "source", "doi"]
    files = {row[kind] for row in listed for kind in ("pdf", "xml")}
    assert files == {path.name for path in CORPUS.glob("*.*") if path.suffix in (".pdf", ".xml")}
    assert {row["source"] for row in listed} == {"scielo", "redalyc", "ore", "pkp"}
    for row in listed:
        assert (row["doi"] == "") == (row["source"] == "pkp")
        assert row["doi"].startswith("10.5555/") or not row["doi"]


def test_size_and_languages() -> None:
    assert len(ARTICLES) >= 10
    assert sum(len(references(name)) for name in ARTICLES) >= 240
    assert {tree(name).get(LANG) for name in ARTICLES} == {"en", "pt", "es", "fr", "de"}
    assert {tree(name).get("article-type") for name in ARTICLES} == {"research-article", "preprint"}
    assert sum(path.stat().st_size for path in CORPUS.iterdir()) < 1_000_000


def test_publication_types() -> None:
    kinds: Counter[str] = Counter()
    for name in ARTICLES:
        for ref in references(name):
            kinds[ref.xpath("string(.//@publication-type)")] += 1
    assert set(kinds) == {"journal", "book", "chapter", "thesis", "confproc", "webpage", "report"}
    assert 0.5 < kinds["journal"] / kinds.total() < 0.62


def test_every_work_is_fictional() -> None:
    for name in ARTICLES:
        text = (CORPUS / f"{name}.xml").read_text(encoding="utf-8")
        assert all(found == "10.5555" for found in re.findall(r"\b10\.\d{4,9}(?=/)", text))
        hosts = set(re.findall(r"https?://([^/\s<\"]+)", text))
        assert all(host.endswith(".example") or host in ("doi.org", "www.w3.org") for host in hosts)


def test_printed_references_are_in_the_pdf() -> None:
    found = total = 0
    for name in ARTICLES:
        text = squeezed(without_furniture(name))
        for mixed in tree(name).iter("mixed-citation"):
            total += 1
            found += squeezed("".join(mixed.itertext())) in text
    assert total >= 240
    assert found / total >= 0.97


@pytest.mark.parametrize("name", ARTICLES)
def test_pdf_hyphenates_line_ends(name: str) -> None:
    """A pdfium text page joins a word that was broken with a hyphen by U+0002 (or U+FFFE)."""
    text = without_furniture(name)
    assert len(re.findall(r"\w[\x02\ufffe]\w", text)) >= 5


def test_flaws_name_references_that_exist() -> None:
    flaws = rows("flaws.tsv")
    assert len(flaws) >= 12
    for row in flaws:
        assert row["ref"] in {ref.get("id") for ref in references(row["id"])}


def test_platform_manners() -> None:
    for row in rows("corpus.tsv"):
        for ref in references(row["id"]):
            element = ref.find("element-citation")
            assert (element is not None) == (row["source"] in ("scielo", "redalyc"))
            if element is not None:
                assert not (element.text or "").strip()
                assert all(not (child.tail or "").strip() for child in element)
    assert 'xmlns:ns0="' in (CORPUS / "ore-en-01.xml").read_text(encoding="utf-8")


def make(out: Path) -> dict[str, bytes]:
    command = [sys.executable, str(ROOT / "examples" / "make_corpus.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_maker_is_deterministic(tmp_path: Path) -> None:
    first, second = make(tmp_path / "first"), make(tmp_path / "second")
    assert first == second
    committed = {path.name: path.read_bytes() for path in CORPUS.iterdir()}
    assert set(first) == set(committed)
    # A PDF's deflated bytes may differ with another zlib: those are compared above only.
    for name in committed:
        assert name.endswith(".pdf") or first[name] == committed[name], name
