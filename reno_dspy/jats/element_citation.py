"""Annotations as JATS `element-citation`: the values alone, without the text between them.

JATS 1.3 (ANSI/NISO Z39.96-2021), which has the same content model in its Archiving and Publishing sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from lxml import etree

from reno_dspy.jats.citation import Element, name_of, parse, text_of
from reno_dspy.jats.elements import NAME_PARTS

_NAMES = ("name", "string-name")
# Formatting around values, and a value that has others inside.
_STYLE = frozenset(["bold", "italic", "monospace", "sc", "sub", "sup", "underline"])
# The order in which `name` must have its parts.
_PARTS = ("surname", "given-names", "prefix", "suffix")


def element_citation(mixed: str) -> str:
    """The `element-citation` of a valid `mixed-citation`; "" for one without values, which none may be.

    Raises MalformedXml.
    """
    found = parse(mixed)
    root = etree.Element("element-citation", dict(found.attrib))
    root.extend(_values(found))
    if not len(root):
        return ""
    # What names the attributes of links, where there are any.
    etree.cleanup_namespaces(root)
    xml: str = etree.tostring(root, encoding="unicode")
    return xml


def _values(parent: Element) -> Iterator[Element]:
    for element in parent.iterchildren(etree.Element):
        name = name_of(element)
        if name in _STYLE:
            yield from _values(element)
        elif name == "person-group":
            group = etree.Element(name, dict(element.attrib))
            group.extend(_values(element))
            yield group
        elif name in _NAMES:
            yield _person(element)
        elif name in NAME_PARTS:
            yield _person(_wrapped(element))
        else:
            yield _value(element)


def _value(element: Element) -> Element:
    value = etree.Element(element.tag, dict(element.attrib))
    value.text = text_of(element)
    return value


def _person(element: Element) -> Element:
    """A person as `name`; as `string-name` where `name` does not allow the parts, or there are none."""
    parts = {name_of(part): _value(part) for part in element.iterchildren(etree.Element)}
    fits = {"surname", "given-names"} & set(parts) and set(parts) <= set(_PARTS)
    if fits and len(parts) == len(element):
        person = etree.Element("name", dict(element.attrib))
        person.extend(parts[name] for name in _PARTS if name in parts)
        return person
    person = etree.Element("string-name", dict(element.attrib))
    person.extend(_value(part) for part in element.iterchildren(etree.Element))
    person.text = None if len(person) else text_of(element)
    return person


def _wrapped(part: Element) -> Element:
    person = etree.Element("string-name")
    person.append(copy(part))
    return person
