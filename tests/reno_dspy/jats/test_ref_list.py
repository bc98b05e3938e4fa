"""References of a JATS list: valid in the whole of JATS 1.3, whatever a system said of them."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from reno_dspy.jats.citation import read_values
from reno_dspy.jats.elements import LEAVES, PEOPLE, WHOLE_PEOPLE
from reno_dspy.jats.ref_list import faithful, ref
from reno_dspy.jats.spans import Span, render

REFERENCE = "Ito K, Oe H. Foxes & geese. J Fict. 2001;3(2):1-9. doi:10.5555/x.1"


def in_list(*refs: str) -> etree._Element:
    return etree.fromstring(f"<ref-list>{''.join(refs)}</ref-list>")


def one(annotation: str | None, label: str = "", error: str | None = None) -> str:
    return ref(1, label, REFERENCE, annotation, error)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (f"<mixed-citation>{escape(REFERENCE)}</mixed-citation>", None),
        ('<mixed-citation publication-type="journal"><name><surname>Ito</surname> <given-names>K'
         f"</given-names></name>{escape(REFERENCE[5:])}</mixed-citation>", None),
        ('<mixed-citation xmlns:xlink="http://www.w3.org/1999/xlink">Ito K, Oe H. <article-title>'
         "<italic>Foxes</italic> &amp; geese</article-title>. J Fict. 2001;3(2):1-9. doi:"
         '<ext-link xlink:href="https://doi.org/10.5555/x.1">10.5555/x.1</ext-link>'
         "</mixed-citation>", None),
        ("<mixed-citation><string-name><surname>ITO</surname></string-name> <source>J Fict</source> "
         "<year>2001</year> <publisher-name>Invented Press</publisher-name></mixed-citation>",
         "geese. <source>J Fict</source>. <year>2001</year>;3(2)"),
        ("<mixed-citation><surname>Ito</surname> <year>2001</year></mixed-citation>",
         "<surname>Ito</surname></string-name></person-group> K, Oe H. Foxes &amp; geese. J Fict. "
         "<year>2001</year>;"),
        ("<mixed-citation><name><surname>Ito</surname>, <given-names>K</given-names></name>"
         "</mixed-citation>", "<surname>Ito</surname> <given-names>K</given-names></string-name>"),
        ("<citation><title>x</title><journal-title>J Fict</journal-title><year>2001</year>"
         "</citation>", "<year>2001</year>"),
        ("<element-citation><source>J Fict</source><volume>3</volume></element-citation>",
         "<source>J Fict</source>. 2001;<volume>3</volume>(2)"),
        ('<ref id="B1"><mixed-citation id="c1"><source>J Fict</source></mixed-citation></ref>',
         "<mixed-citation>Ito K, Oe H. Foxes &amp; geese. <source>J Fict</source>."),
        ('<ns0:mixed-citation xmlns:ns0="urn:x"><ns0:year>2001</ns0:year></ns0:mixed-citation>',
         "<year>2001</year>"),
        ('<mixed-citation><pub-id pub-id-type="DOI">10.5555/x.1</pub-id></mixed-citation>',
         '<pub-id pub-id-type="doi">10.5555/x.1</pub-id>'),
        ('<mixed-citation><person-group person-group-type="writers"><string-name>Ito K'
         "</string-name></person-group><size>1-9</size></mixed-citation>",
         '<size units="pages">1-9</size>'),
    ],
)  # fmt: skip
def test_what_jats_forbids_or_was_not_there_is_placed_on_the_reference(
    jats: etree.DTD, annotation: str, expected: str | None
) -> None:
    shown = faithful(REFERENCE, annotation)
    assert shown == annotation if expected is None else expected in shown
    assert expected is None or "".join(etree.fromstring(shown).itertext()) == REFERENCE
    assert jats.validate(in_list(one(annotation, "[1] "))), jats.error_log


def test_labels_stand_before_the_citation_and_failures_say_why(jats: etree.DTD) -> None:
    (done,) = in_list(one("<mixed-citation/>", "12. "))
    assert [child.tag for child in done] == ["label", "mixed-citation"]
    assert done.findtext("label") == "12."
    failed = in_list(one(None, "12.\u00a0", "HTTP 500 ---> \x01--"))
    assert jats.validate(failed), jats.error_log
    assert "".join(failed.itertext()).strip() == f"12.\u00a0{REFERENCE}"
    assert "HTTP 500" in str(failed[0][-1])


FIELDS = LEAVES


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(FIELDS)), st.sampled_from(["author", "editor"])),
        max_size=9,
    )
)
def test_whatever_taggers_write_is_valid(jats: etree.DTD, fields: list[tuple[str, str]]) -> None:
    words = [f"word{n}" for n in range(len(fields))]
    spans = [
        Span(6 * n, 6 * n + 5, field, role if field in PEOPLE else None)
        for n, (field, role) in enumerate(fields)
    ]
    text = " ".join(words)
    shown = ref(1, "", text, render(text, spans), None)
    assert jats.validate(in_list(shown)), jats.error_log
    assert "".join(in_list(shown).itertext()).strip() == text
    (both,) = in_list(ref(1, "1. ", text, render(text, spans), None, with_elements=True))
    assert jats.validate(both.getparent()), jats.error_log
    mixed, alone = both[1] if fields else (both[1], None)
    assert "".join(mixed.itertext()) == text
    if alone is not None:
        # The values of each field are the same, though the parts of a name are put in order.
        assert read_values(alone, FIELDS - WHOLE_PEOPLE) == read_values(
            mixed, FIELDS - WHOLE_PEOPLE
        )
