"""Gold fields placed on the plain text; labelled spans rendered in place."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.jats.citation import parse
from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.spans import Span, project, render
from reno_dspy.measure.metric import compare

TEXT = "3. Vale R, Ito K. Foxes of Nordhaven: a survey. J Fict Zool 2010;12(3):200-9."
ELEMENTS = (
    '<element-citation publication-type="journal"><person-group person-group-type="author">'
    "<name><surname>Vale</surname><given-names>R.</given-names></name>"
    "<name><surname>Ito</surname><given-names>Kenji</given-names></name></person-group>"
    "<article-title>Foxes of Nordhaven: a survey</article-title><source>J Fict Zool</source>"
    "<year>2010</year><volume>12</volume><issue>3</issue><fpage>200</fpage><lpage>209</lpage>"
    "</element-citation>"
)


def spans(text: str, xml: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for span in project(text, xml).spans:
        found.setdefault(span.field, []).append(text[span.start : span.end])
    return found


def test_bare_elements_are_placed_in_the_reference() -> None:
    found = spans(TEXT, ELEMENTS)
    assert found["surname"] == ["Vale", "Ito"]
    assert found["given-names"] == ["R", "K."]
    assert found["lpage"] == ["9"]
    assert found["issue"] == ["3"]
    assert project(TEXT, ELEMENTS).missing == ()


def test_numbers_go_where_volume_issue_and_pages_stand_together() -> None:
    text = "12 Foxes in 2010 barns. J Fict 2010;2010(12):3-12."
    xml = (
        "<m><source>J Fict</source><year>2010</year><volume>2010</volume><issue>12</issue>"
        "<fpage>3</fpage><lpage>12</lpage></m>"
    )
    places = {span.field: span.start for span in project(text, xml).spans}
    assert places["volume"] == text.index("2010(")
    assert places["issue"] == text.index("12)")
    assert places["lpage"] == text.index("12.", 40)


def test_a_volume_is_not_taken_from_a_link() -> None:
    text = "Foxes. J Fict. https://doi.org/10.5555/fox.12.3 12"
    (volume,) = [
        s for s in project(text, "<m><volume>12</volume></m>").spans if s.field == "volume"
    ]
    assert volume.start == len(text) - 2


def test_a_hyphenated_title_is_found_by_its_letters() -> None:
    text = "Ito K. Foxes of Nord-\nhaven, a sur- vey. 2010."
    xml = "<m><article-title>Foxes of Nordhaven: a survey</article-title></m>"
    assert spans(text, xml)["article-title"] == ["Foxes of Nord-\nhaven, a sur- vey"]


def test_what_has_no_place_is_reported() -> None:
    projection = project(TEXT, "<m><source>Annals of Elsewhere</source><year>2010</year></m>")
    assert projection.missing == (("source", "Annals of Elsewhere"),)


def test_gold_in_place_stays_in_place() -> None:
    xml = project(TEXT, ELEMENTS).xml
    assert project(TEXT, xml).xml == xml


def test_names_are_grouped_by_role() -> None:
    text = "Vale R, Ito K. In: Cruz M, ed."
    labels = [
        Span(0, 4, "surname", "author"), Span(5, 6, "given-names", "author"),
        Span(8, 11, "surname", "author"), Span(12, 14, "given-names", "author"),
        Span(19, 23, "surname", "editor"), Span(24, 25, "given-names", "editor"),
    ]  # fmt: skip
    root = parse(render(text, labels, "book"))
    groups = root.findall("person-group")
    assert [g.get("person-group-type") for g in groups] == ["author", "editor"]
    assert [len(g.findall("string-name")) for g in groups] == [2, 1]
    assert root.get("publication-type") == "book"


def test_overlaps_and_illegal_characters_are_refused() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        render("abcd", [Span(0, 3, "source"), Span(2, 4, "year")])
    with pytest.raises(ValueError, match="cannot stand in XML"):
        render("a\x00", [])


texts = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cn"]) | st.sampled_from("<&>\r\n")
)


@given(texts, st.lists(st.integers(0, 60), max_size=8, unique=True))
def test_rendered_text_is_the_reference(text: str, cuts: list[int]) -> None:
    edges = sorted(cut for cut in cuts if cut <= len(text))
    fields = ["surname", "given-names", "source", "pub-id", "etal"]
    labels = [
        Span(start, end, fields[i % 5], "author" if i % 5 != 2 else None)
        for i, (start, end) in enumerate(zip(edges[::2], edges[1::2], strict=False))
    ]
    legal = all(c in "\t\n\r" or " " <= c not in "\ufffe\uffff" for c in text)
    if legal:
        assert "".join(parse(render(text, labels)).itertext()).strip() == text.strip()


def test_real_gold_can_be_placed(shared: Path) -> None:
    """Of every field of real references, at least 97.5% finds a place that scores as right."""
    for name in ("scielo", "ore", "pmc"):
        gold, right = dict.fromkeys(SCORED, 0), dict.fromkeys(SCORED, 0)
        with gzip.open(shared / f"data/refs/{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines][:800]
        for row in rows:
            projection = project(row["plaintext"], row["xml"])
            assert "".join(parse(projection.xml).itertext()) == row["plaintext"]
            for field, score in compare(row["xml"], projection.xml).fields.items():
                gold[field] += score.gold
                right[field] += score.lenient
        assert all(right[f] >= 0.975 * gold[f] for f in SCORED), (name, gold, right)


def test_identifiers_and_sizes_carry_the_attribute_that_jats_wants() -> None:
    text = "214 p. 12345678 TR-7"
    spans = [Span(0, 6, "size"), Span(7, 15, "pub-id", "other"), Span(16, 20, "pub-id")]
    assert render(text, spans) == (
        '<mixed-citation><size units="pages">214 p.</size> <pub-id pub-id-type="other">12345678</pub-id> '
        '<pub-id pub-id-type="other">TR-7</pub-id></mixed-citation>'
    )
