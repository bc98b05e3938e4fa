"""Works that measuring uses are held apart, by title, by DOI, and by the texts that cite them."""

from __future__ import annotations

from reno_dspy.data.dataset import Row
from reno_dspy.jats.text import folded
from reno_dspy.synthesize.metadata import Item
from reno_dspy.synthesize.split import HeldApart

ROW = Row(
    None,
    "Veldt A. Paper tides. J Fict. 2001. doi:10.1000/ABC.1. See also A rather long and telling title.",
    "<mixed-citation><article-title>Paper tides</article-title><source>J Fict</source></mixed-citation>",
    "test",
)


def item(title: str, doi: str = "") -> Item:
    csl = {"title": title} | ({"DOI": doi} if doi else {})
    return Item("i", folded(title), "journal", csl, None, None, None)


def test_works_of_excluded_references_are_known() -> None:
    apart = HeldApart([ROW])
    assert item("Paper Tides!") in apart
    assert item("Another title", "10.1000/abc.1") in apart
    # The annotation does not have it, the text does.
    assert item("A rather long, and telling title") in apart
    assert item("J Fict") not in apart
    assert item("tides") not in apart
    assert item("Something else") not in apart


def reference(plaintext: str, title: str = "") -> Row:
    xml = f"<mixed-citation><article-title>{title}</article-title></mixed-citation>"
    return Row(None, plaintext, xml, "train")


def test_references_that_cite_these_works_are_known() -> None:
    apart = HeldApart([ROW])
    assert apart.cited_by(reference("Veldt, A. (2001) Paper tides", "Paper tides"))
    assert apart.cited_by(reference("https://doi.org/10.1000/abc.1."))
    assert apart.cited_by(reference((ROW.plaintext or "").upper()))
    assert not apart.cited_by(reference("Veldt, A. (2002) Paper moons. J Fict.", "Paper moons"))
    assert not HeldApart([reference("")]).cited_by(reference(""))
