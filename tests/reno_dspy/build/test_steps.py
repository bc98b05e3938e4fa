"""The forms in which a JATS reference is compared with print."""

from __future__ import annotations

import pytest

from reno_dspy.build.match import match
from reno_dspy.build.steps import reference_forms
from reno_dspy.jats.article import JatsReference

WORK = (
    "<name><surname>Veldt</surname><given-names>AB</given-names></name><name><surname>Marsh</surname>"
    "<given-names>C</given-names></name><article-title>On glass bees, aetiology and management"
    "</article-title><source>Lancet</source><year>1999</year><volume>5</volume><issue>3</issue>"
    "<fpage>1959</fpage><lpage>1964</lpage><pub-id pub-id-type='doi'>10.1016/S0140-6736(99)01307-0"
    "</pub-id><pub-id pub-id-type='pmid'>10371588</pub-id>"
)


def reference(xml: str, text: str, kind: str = "mixed") -> JatsReference:
    return JatsReference("r", xml, (text,), kind)


@pytest.mark.parametrize(
    "printed",
    [
        "Veldt AB, Marsh C: On glass bees, aetiology and management. Lancet 1999, 5:1959–1964.",
        "A.B. Veldt, C. Marsh, On glass bees, aetiology and management. Lancet 5(3), 1959–1964 (1999)",
        "Veldt, A. B.; Marsh, C. On glass bees, aetiology and management. Lancet 1999, 5, 1959–1964.",
    ],
)
def test_a_mixed_citation_without_punctuation_is_matched_in_its_printed_forms(printed: str) -> None:
    glued = "VeldtABMarshCOn glass bees, aetiology and managementLancet199953195919641010371588"
    texts, styles = reference_forms(reference(f"<mixed-citation>{WORK}</mixed-citation>", glued))
    assert len(texts) == len(styles)
    assert len(match([printed], [texts], 0.75)) == 1
    assert not match([printed], [[glued]], 0.75)


def test_identifiers_that_are_glued_on_unprinted_are_left_out() -> None:
    xml = (
        "<mixed-citation>Odd C. <source>Fog</source>. 1999. <pub-id pub-id-type='doi'>10.1/x</pub-id>"
        "<pub-id pub-id-type='pmid'>123</pub-id></mixed-citation>"
    )
    texts, styles = reference_forms(reference(xml, "Odd C. Fog. 1999. 10.1/x123"))
    assert texts[styles.index("without ids")] == "Odd C. Fog. 1999."
