"""JATS articles of all four platforms' manners, and hostile ones."""

from pathlib import Path

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.build.filters import check
from reno_dspy.jats.article import read_article
from reno_dspy.jats.citation import read

HEAD = '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "JATS.dtd">'
BOTH = (
    "<ref id='B1'><label>1</label><mixed-citation>Ito&nbsp;K. Foxes. <italic>J Fict</italic>; 2010."
    "</mixed-citation>\n<element-citation publication-type='journal'>\n <name>\n"
    "<surname>Ito</surname>\n</name>\n<source>J Fict</source></element-citation></ref>"
)


def article(refs: str, attributes: str = "") -> str:
    return (
        f"{HEAD}<article xmlns:xlink='http://www.w3.org/1999/xlink' {attributes}><front>"
        "<article-meta><article-id pub-id-type='doi'>10.5555/x</article-id><title-group>"
        "<article-title>A <italic>title</italic></article-title></title-group></article-meta></front>"
        f"<back><ref-list>{refs}</ref-list></back></article>"
    )


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.xml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plain_mixed_citation_gives_the_text_and_the_elements_the_gold(tmp_path: Path) -> None:
    found = read_article(write(tmp_path, article(BOTH, "article-type='preprint' xml:lang='pt'")))
    (reference,) = found.references
    assert (found.doi, found.title, found.language) == ("10.5555/x", "A title", "pt")
    assert found.is_preprint
    assert reference.text == "Ito K. Foxes. J Fict; 2010."
    assert reference.kind == "mixed"
    assert read(reference.xml).strict["source"] == ("J Fict",)
    assert "xmlns" not in reference.xml


def test_a_tagged_mixed_citation_is_its_own_gold(tmp_path: Path) -> None:
    refs = (
        "<ref><mixed-citation><surname>Ito</surname>. <source>J</source>. "
        "<ext-link xlink:href='u'>u</ext-link></mixed-citation></ref>"
    )
    (reference,) = read_article(write(tmp_path, article(refs))).references
    assert reference.id == "ref1"
    assert read(reference.xml).well_formed
    assert reference.text == "Ito. J. u"


def test_elements_alone_are_told(tmp_path: Path) -> None:
    refs = "<ref id='r'><element-citation><source>J</source><year>1</year></element-citation></ref>"
    (reference,) = read_article(write(tmp_path, article(refs))).references
    assert reference.kind == "element"


def test_several_works_under_one_number_are_several_references(tmp_path: Path) -> None:
    refs = "<ref id='r'><mixed-citation>A</mixed-citation><mixed-citation>B</mixed-citation></ref>"
    references = read_article(write(tmp_path, article(refs))).references
    assert [(r.id, r.text) for r in references] == [("r.1", "A"), ("r.2", "B")]


def test_citations_without_text_are_no_references(tmp_path: Path) -> None:
    tagged = "<element-citation><surname>Ito</surname><year>1999</year></element-citation>"
    refs = (
        "<ref id='a'><mixed-citation>A</mixed-citation><mixed-citation>&#xa0;</mixed-citation></ref>"
        f"<ref id='b'><mixed-citation> </mixed-citation>{tagged}</ref>"
        "<ref id='c'><element-citation/></ref>"
        "<ref id='d'><citation-alternatives><mixed-citation/></citation-alternatives></ref>"
    )
    found = read_article(write(tmp_path, article(refs))).references
    assert [(one.id, one.kind) for one in found] == [("a", "mixed"), ("b", "element")]


def test_alternatives_are_one_work_whose_gold_is_the_tagged_one(tmp_path: Path) -> None:
    tagged = (
        "<mixed-citation><surname>Ito</surname>. <source>J</source>. <year>1999</year>"
        "</mixed-citation>"
    )
    refs = (
        "<ref id='r'><citation-alternatives><mixed-citation xml:lang='ru'>Ито. Ж. 1999</mixed-citation>"
        f"{tagged}</citation-alternatives></ref>"
    )
    (reference,) = read_article(write(tmp_path, article(refs))).references
    assert reference.texts == ("Ито. Ж. 1999", "Ito. J. 1999")
    assert read(reference.xml).strict["surname"] == ("Ito",)


def test_as_many_mixed_as_tagged_citations_are_pairs(tmp_path: Path) -> None:
    refs = "".join(
        f"<mixed-citation>{n}. J</mixed-citation><element-citation><surname>{n}</surname>"
        "<source>J</source></element-citation>"
        for n in ("Ito", "Odd")
    )
    found = read_article(write(tmp_path, article(f"<ref id='r'>{refs}</ref>"))).references
    assert [(r.id, r.text) for r in found] == [("r.1", "Ito. J"), ("r.2", "Odd. J")]
    assert [read(r.xml).strict["surname"] for r in found] == [("Ito",), ("Odd",)]


def test_a_prefix_for_the_articles_own_namespace_is_no_part_of_its_names(tmp_path: Path) -> None:
    text = (
        "<j:article xmlns:j='https://jats.nlm.nih.gov/ns/archiving/1.3/'><j:back><j:ref-list>"
        "<j:ref id='r'><j:mixed-citation><j:surname>Ito</j:surname>. <j:source>J</j:source>"
        "</j:mixed-citation></j:ref></j:ref-list></j:back></j:article>"
    )
    (reference,) = read_article(write(tmp_path, text)).references
    assert reference.xml.startswith("<mixed-citation>")
    assert check(reference.text, reference.xml).count("namespace_pollution") == 0


def test_tex_beside_mathml_is_no_text(tmp_path: Path) -> None:
    formula = (
        "<alternatives><tex-math>\\documentclass{minimal}$x$</tex-math>"
        "<math xmlns='http://www.w3.org/1998/Math/MathML'><mi>x</mi></math></alternatives>"
    )
    refs = (
        f"<ref><mixed-citation><article-title>On {formula}</article-title></mixed-citation></ref>"
    )
    (reference,) = read_article(write(tmp_path, article(refs))).references
    assert reference.text == "On x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not well-formed"),
        ("<article><front>", "not well-formed"),
        ("<html/>", "not a JATS article"),
        (
            '<!DOCTYPE article [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><article>&b;</article>',
            "declares XML entities",
        ),
        (
            '<!DOCTYPE article [<!ENTITY a SYSTEM "file:///etc/passwd">]><article>&a;</article>',
            "declares XML entities",
        ),
    ],
)
def test_hostile_or_broken_articles_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_article(write(tmp_path, text))


def test_a_missing_article_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Cannot read .*none.xml"):
        read_article(tmp_path / "none.xml")


def test_every_development_article_is_read(shared: Path) -> None:
    import csv

    folder = shared / "data" / "pairs"
    with open(folder / "pairs.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        references = read_article(folder / f"{row['name']}.xml").references
        assert len(references) >= 0.9 * int(row["n_refs"]), row["name"]
        assert all(read(reference.xml).well_formed for reference in references), row["name"]
