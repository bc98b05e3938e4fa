"""The reader of gold and of model output."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reno_dspy.jats.citation import MalformedXml, parse, read, read_values, text_of
from reno_dspy.jats.elements import SCORED

GOLD = (
    '<mixed-citation publication-type="journal"><string-name><surname>Ito</surname>, '
    "<given-names>K.</given-names></string-name> (<year>2001</year>). <article-title>On <italic>E. "
    "coli</italic> &amp; me</article-title>. <source>J Fict</source></mixed-citation>"
)


def test_values_are_texts_without_inner_tags() -> None:
    values = read_values(parse(GOLD))
    assert values["article-title"] == ("On E. coli & me",)
    assert values["surname"] == ("Ito",)
    assert values["volume"] == ()


@pytest.mark.parametrize(
    "xml",
    [
        '<ns0:mixed-citation xmlns:ns0="http://x.example"><ns0:year>1999</ns0:year></ns0:mixed-citation>',
        "<element-citation>\n  <year>\n    1999\n  </year>\n</element-citation>",
        '<?xml version="1.0" encoding="latin-1"?><m><year>1999</year></m>',
        "\ufeff<m><!-- a note --><year>19<?pi?>99</year></m>",
    ],
)
def test_residue_of_exporters_is_read_through(xml: str) -> None:
    assert read_values(parse(xml))["year"] == ("1999",)


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "text",
        "<a/><b/>",
        "<a>",
        "<a>&nbsp;</a>",
        '<a xlink:href="x"/>',
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<a>\x00</a>",
        "<a>\ud800</a>",
    ],
)
def test_anything_but_one_safe_element_is_malformed(xml: str) -> None:
    with pytest.raises(MalformedXml):
        parse(xml)
    assert not read(xml).well_formed


def test_lenient_saves_what_stands_between_tags() -> None:
    reading = read("<mixed-citation><surname>A &amp;\n B</surname><issue/><year>1<b>9</b>99</year>")
    assert reading.lenient["surname"] == ("A & B",)
    assert reading.lenient["issue"] == ("",)
    assert reading.lenient["year"] == ("1999",)
    assert not any(reading.strict.values())
    assert reading.problem


def test_lenient_takes_exact_unprefixed_names() -> None:
    reading = read(
        "<m><sourcebook>x</sourcebook><ns0:source>y</ns0:source><source a='b'>z</source>"
    )
    assert reading.lenient["source"] == ("z",)


def test_fence_and_thought_are_removed_and_told() -> None:
    reading = read(f"<think>\nlet me see <year>1</year></think>\n```xml\n{GOLD}\n```\n")
    assert (reading.well_formed, reading.fenced, reading.thought) == (True, True, True)
    assert reading.strict["year"] == ("2001",)


def test_text_around_the_element_is_malformed() -> None:
    assert not read(f"Here it is: {GOLD}").well_formed
    assert read(f"Here it is: {GOLD}").lenient["year"] == ("2001",)


@given(st.text() | st.text(alphabet="<>/&; suryename=\"'\n!-", max_size=200))
def test_reading_never_raises(completion: str) -> None:
    reading = read(completion)
    assert set(reading.lenient) == set(SCORED)
    if not reading.well_formed:
        assert not any(reading.strict.values())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=80))
def test_a_value_survives_escaping(value: str) -> None:
    element = etree.Element("source")
    element.text = value
    read_back = read_values(parse(etree.tostring(element, encoding="unicode")))
    assert read_back["source"] == (" ".join(value.split()),)


def test_every_hard_case_reads_as_told(shared: Path) -> None:
    lines = (shared / "cases" / "hard_cases.jsonl").read_text(encoding="utf-8").splitlines()
    for case in map(json.loads, lines):
        root = parse(case["xml"])
        fields = dict(case["fields"])
        assert [root.get("publication-type")] == fields.pop("publication-type"), case["id"]
        if editors := fields.pop("editor-surname", None):
            groups = root.findall(".//person-group[@person-group-type='editor']")
            assert [v for g in groups for v in read_values(g)["surname"]] == editors, case["id"]
        values = {name: list(found) for name, found in read_values(root, fields).items()}
        assert values == fields, case["id"]
        assert text_of(root) == " ".join(case["plaintext"].split()), case["id"]


def test_every_gold_annotation_is_well_formed(shared: Path) -> None:
    for file in sorted((shared / "data" / "refs").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            assert all(read(json.loads(line)["xml"]).well_formed for line in lines), file.name
