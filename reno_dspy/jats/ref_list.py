"""Annotations as the `<ref>` elements of a JATS `<ref-list>`: valid and faithful, whatever was said.

An annotation that has the reference's text and follows the rules below is kept as it is. Of another one
(words changed, unknown elements, surnames outside of names) the values are placed on the reference's
own text; those that do not occur there are dropped.
"""

from __future__ import annotations

import io
import re
from xml.sax.saxutils import escape

from lxml import etree

from reno_dspy.jats.citation import parse, text_of
from reno_dspy.jats.element_citation import element_citation
from reno_dspy.jats.elements import ELEMENTS
from reno_dspy.jats.spans import ILLEGAL, project
from reno_dspy.jats.text import collapse

# What annotations of references use of JATS 1.3 Publishing (ANSI/NISO Z39.96-2021): names of elements,
# and of the elements that may stand within their text.
_STYLE = "bold italic monospace sc sub sup underline"
_DATES = "date-in-citation string-date"
_NAME_PARTS = " ".join(e.name for e in ELEMENTS if e.kind == "name")
_PEOPLE = "collab person-group string-name"


def _holding(what: str) -> str:
    """Elements that stand in a citation and hold `what`, apart from those with contents of their own."""
    special = {*_PEOPLE.split(), *_DATES.split(), *_NAME_PARTS.split()}
    return " ".join(e.name for e in ELEMENTS if e.holds == what and e.name not in special)


# Elements that are other names of a value here, and JATS's own.
_TITLES = _holding("links")
_STYLED_VALUES = f"{_holding('style')} ext-link"
_VALUES = f"{_holding('text')} isbn issn"
_CONTENTS = {
    "mixed-citation": f"{_STYLE} {_TITLES} {_VALUES} {_STYLED_VALUES} {_DATES} {_PEOPLE} name",
    "person-group": "collab etal name role string-name",
    "string-name": _NAME_PARTS,
    "collab": f"{_STYLE} institution",
    _DATES: "day month season year",
    f"{_TITLES} {_STYLE}": f"{_STYLE} ext-link uri",
    _STYLED_VALUES: _STYLE,
    f"{_VALUES} {_NAME_PARTS}": "",
}
_ATTRIBUTES = """
<!ELEMENT name (((surname, given-names?) | given-names), prefix?, suffix?)>
<!ATTLIST mixed-citation publication-type CDATA #IMPLIED publication-format CDATA #IMPLIED
  publisher-type CDATA #IMPLIED xml:lang NMTOKEN #IMPLIED
  xmlns:xlink CDATA #FIXED "http://www.w3.org/1999/xlink">
<!ATTLIST person-group person-group-type (allauthors|assignee|author|compiler|curator|director|editor
  |guest-editor|inventor|transed|translator) #IMPLIED>
<!ATTLIST name name-style (western|eastern|islensk|given-only) #IMPLIED>
<!ATTLIST string-name name-style (western|eastern|islensk|given-only) #IMPLIED>
<!ATTLIST pub-id pub-id-type (accession|ark|art-access-id|arxiv|coden|doaj|doi|handle|isbn|manuscript
  |medline|other|pii|pmcid|pmid|publisher-id|sici|std-designation) #IMPLIED>
<!ATTLIST size units CDATA #REQUIRED>
<!ATTLIST year iso-8601-date CDATA #IMPLIED>
<!ATTLIST date-in-citation content-type CDATA #IMPLIED iso-8601-date CDATA #IMPLIED>
<!ATTLIST ext-link xmlns:xlink CDATA #FIXED "http://www.w3.org/1999/xlink" xlink:href CDATA #IMPLIED
  xlink:type (simple) #IMPLIED ext-link-type CDATA #IMPLIED>
<!ATTLIST uri xmlns:xlink CDATA #FIXED "http://www.w3.org/1999/xlink" xlink:href CDATA #IMPLIED>
"""
_RULES = etree.DTD(
    io.StringIO(
        "".join(
            f"<!ELEMENT {name} ({' | '.join(['#PCDATA', *inner.split()])})*>\n"
            for names, inner in _CONTENTS.items()
            for name in names.split()
        )
        + _ATTRIBUTES
    )
)
_LONGEST_REASON = 200


def ref(
    number: int,
    label: str,
    text: str,
    annotation: str | None,
    error: str | None,
    *,
    with_elements: bool = False,
) -> str:
    """One `<ref>`, its id made of `number`, its text `label` and `text`, in one line.

    Without an annotation the text stands untagged, before a comment that says why. `with_elements` adds
    the values alone, as an `element-citation`.
    """
    mark = label.rstrip(" \t")  # other white space may not stand between two elements
    before = f"<label>{_text(mark)}</label>{label[len(mark) :]}" if mark else ""
    if annotation is None:
        citation = f"<mixed-citation>{_text(text)}</mixed-citation>{_comment(error or '')}"
    else:
        citation = faithful(text, annotation)
        if with_elements and (values := element_citation(citation)):
            citation = f"<citation-alternatives>{citation}{values}</citation-alternatives>"
    return f'<ref id="ref{number}">{before}{citation}</ref>\n'


def faithful(text: str, annotation: str) -> str:
    """`annotation` where it is `text` with tags that JATS allows, else its values placed on `text`.

    Raises MalformedXml, and ValueError for a `text` that XML cannot hold.
    """
    root = parse(annotation)
    if text_of(root) == collapse(text) and _RULES.validate(root):
        return annotation
    # Pages are all that a reference counts; `issn` is no type of a pub-id in JATS.
    projected = project(text, annotation).xml.replace("<size>", '<size units="pages">')
    return re.sub(r'<pub-id pub-id-type="issn">([^<]*)</pub-id>', r"<issn>\1</issn>", projected)


def _text(text: str) -> str:
    return escape(ILLEGAL.sub("\ufffd", text)).replace("\r", "&#13;")


def _comment(reason: str) -> str:
    short = collapse(ILLEGAL.sub("\ufffd", reason))[:_LONGEST_REASON]
    return f"<!-- not annotated: {re.sub('-(?=-)', '- ', short)} -->"
