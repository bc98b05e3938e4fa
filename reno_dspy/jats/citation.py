"""One annotated citation: its JATS elements and their values, read strictly or leniently.

Gold annotations and model outputs go through the same reader. Elements are known by their local name,
whatever namespace prefix an exporter left on them. See the paper, section 3 and appendix A.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lxml import etree

from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.text import collapse
from reno_dspy.jats.thoughts import without_thoughts

Values: TypeAlias = Mapping[str, tuple[str, ...]]
Element: TypeAlias = etree._Element

# A reference has some hundred characters; more than this is not an annotation of one.
MAX_CHARACTERS = 1_000_000

_PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8"
)
_DECLARATION = re.compile(r"\A\s*<\?xml\b[^>]*\?>")
_FENCE_LINE = re.compile(r"```[^\n`]*\n")
_TAG = re.compile(r"<[^<>]*>")


class MalformedXml(ValueError):
    """Text that is not one well-formed, self-contained XML element; says line and column."""


@dataclass(frozen=True)
class Reading:
    """What a completion says.

    `lenient` and `strict` hold, for every field asked for, its values in document order. `text` is the
    annotation without tags, `xml` the annotation and `root` its element, None where the completion is
    malformed (`problem` says how). `fenced` and `thought` tell whether a code fence or thoughts
    (`without_thoughts`) were removed.
    """

    lenient: Values
    strict: Values
    well_formed: bool
    text: str | None
    xml: str | None
    root: Element | None
    fenced: bool
    thought: bool
    problem: str | None


def parse(xml: str) -> Element:
    """The root element of `xml`, which must be exactly one element.

    No document type declaration is accepted, so no entity can expand and nothing is fetched.
    Raises MalformedXml.
    """
    if len(xml) > MAX_CHARACTERS:
        raise MalformedXml(f"longer than {MAX_CHARACTERS:,} characters")
    try:
        root = etree.fromstring(bare(xml).encode("utf-8"), _PARSER)
    except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
        raise MalformedXml(str(error)) from None
    if root.getroottree().docinfo.doctype:
        raise MalformedXml("a document type declaration is not allowed in a citation")
    return root


def bare(xml: str) -> str:
    """`xml` without byte order mark and XML declaration, as it can stand inside other XML."""
    return _DECLARATION.sub("", xml.removeprefix("\ufeff"), count=1).strip()


def text_of(element: Element) -> str:
    """The element's text without tags, white space collapsed."""
    return collapse("".join(element.itertext()) if len(element) else element.text or "")


def name_of(element: Element) -> str:
    """The element's local name."""
    tag: str = element.tag
    return tag.rpartition("}")[2]


def read_values(element: Element, names: Iterable[str] = SCORED) -> Values:
    """The values of each element named in `names`, in document order; () where there is none."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for inner in element.iter(etree.Element):
        name = name_of(inner)
        if name in found:
            found[name].append(text_of(inner))
    return {name: tuple(values) for name, values in found.items()}


def read(completion: str, names: Iterable[str] = SCORED) -> Reading:
    """Read a model's completion. Never raises: what cannot be saved has no values.

    Well-formed output is read as XML. Of malformed output, `lenient` takes for each field every
    `<field ...>` up to the nearest `</field>`, and `strict` nothing.
    """
    names = tuple(names)
    body, fenced, thought = _unwrap(completion)
    nothing: Values = dict.fromkeys(names, ())
    try:
        root = parse(body)
    except MalformedXml as error:
        lenient = {name: tuple(_salvage(body, name)) for name in names}
        return Reading(lenient, nothing, False, None, None, None, fenced, thought, str(error))
    values = read_values(root, names)
    return Reading(values, values, True, text_of(root), bare(body), root, fenced, thought, None)


def _unwrap(completion: str) -> tuple[str, bool, bool]:
    body, thought = without_thoughts(completion)
    inner = body.strip()
    opening = _FENCE_LINE.match(inner)
    fenced = opening is not None and len(inner) >= opening.end() + 3 and inner.endswith("```")
    if opening is not None and fenced:
        body = inner[opening.end() : -3].strip()
    return body, fenced, thought


def _salvage(text: str, name: str) -> Iterable[str]:
    """Values of `<name ...>...</name>` in malformed text, in one pass over it."""
    opening = re.compile(rf"<{re.escape(name)}(?:\s[^<>]*)?/?>")
    closing = re.compile(rf"</{re.escape(name)}\s*>")
    start = 0
    while found := opening.search(text, start):
        if found.group().endswith("/>"):
            yield ""
            start = found.end()
            continue
        end = closing.search(text, found.end())
        if end is None:
            # No later opening has a closing tag either; only empty elements can follow.
            yield from _empty_elements(text, name, found.end())
            return
        yield collapse(html.unescape(_TAG.sub("", text[found.end() : end.start()])))
        start = end.end()


def _empty_elements(text: str, name: str, start: int) -> Iterable[str]:
    for _ in re.finditer(rf"<{re.escape(name)}(?:\s[^<>]*)?/>", text[start:]):
        yield ""
