"""Confidence inside of JATS, which has no place of its own for it.

`<year>1999</year><?confidence 0.9312?>`: a processing instruction behind an element says how sure the
system is of it. The attribute `specific-use` would not do: surnames and article titles have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from reno_dspy.jats.citation import Element, name_of, parse
from reno_dspy.systems import ValueJson


def marked(ref: str, whole: float, values: Sequence[ValueJson]) -> str:
    """One `<ref>` in a line, with the confidence behind its citation and those of its `values` it has."""
    root = parse(ref)
    (citation,) = (one for one in root.iter(etree.Element) if name_of(one) == "mixed-citation")
    at = 0
    for leaf in [one for one in citation.iterdescendants(etree.Element) if not len(one)]:
        wanted = (name_of(leaf), leaf.text)
        # A value that did not make it into the list is passed over.
        found = next(
            (
                i
                for i in range(at, len(values))
                if (values[i]["field"], values[i]["value"]) == wanted
            ),
            None,
        )
        if found is not None:
            at = found + 1
            _mark(leaf, values[found]["confidence"])
    _mark(citation, whole)
    line: str = etree.tostring(root, encoding="unicode")
    return line + "\n"


def _mark(element: Element, confidence: float | None) -> None:
    """Put `confidence` between `element` and the text behind it."""
    parent = element.getparent()
    if confidence is None or parent is None:
        return
    mark = etree.ProcessingInstruction("confidence", f"{confidence:.4f}")
    mark.tail, element.tail = element.tail, None
    parent.insert(parent.index(element) + 1, mark)
