"""JATS articles: their metadata and reference lists, read without expanding or fetching anything."""

from __future__ import annotations

import copy
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from reno_dspy.base.errors import InputError
from reno_dspy.jats.citation import Element, name_of, read_values, text_of
from reno_dspy.jats.text import collapse

MAX_BYTES = 64 * 2**20
_MIXED = frozenset({"mixed-citation", "citation"})
_ELEMENT = frozenset({"element-citation", "nlm-citation"})
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


@dataclass(frozen=True)
class JatsReference:
    """One work of a reference list.

    `xml` is its gold: the tagged citation, where a plain `mixed-citation` stands beside an
    `element-citation` the latter. `texts` are what the article prints, one for each `mixed-citation` of
    the work (of alternatives, in several languages); for `kind` "element" (no mixed citation at all) the
    bare texts of the elements.
    """

    id: str
    xml: str
    texts: tuple[str, ...]
    kind: str

    @property
    def text(self) -> str:
        """The first of the texts."""
        return self.texts[0]


@dataclass(frozen=True)
class Article:
    """A citing article: identity, language (`xml:lang`), kind, and its references in order."""

    doi: str | None
    language: str | None
    article_type: str | None
    is_preprint: bool
    title: str | None
    references: tuple[JatsReference, ...]


def read_article(path: Path) -> Article:
    """Read a JATS article.

    Raises InputError for a missing or oversized file, malformed XML, declared entities (they are how
    entity bombs and external entities come in), or a root that is not `article`.
    """
    root = parse_file(path)
    if name_of(root) != "article":
        raise InputError(f"{path} is not a JATS article: its root element is <{name_of(root)}>.")
    kind = root.get("article-type")
    return Article(
        doi=_doi(root),
        language=root.get(_LANG),
        article_type=kind,
        is_preprint="preprint" in (kind or "").lower(),
        title=_first_text(root, "article-title"),
        references=tuple(_references(root)),
    )


def parse_file(path: Path) -> Element:
    """The root of a JATS file. Raises InputError as `read_article`."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    if size > MAX_BYTES:
        raise InputError(f"{path} has {size:,} bytes; a JATS article may have {MAX_BYTES:,}.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True,
        remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(f"{path} is not well-formed XML: {error}") from error
    internal = root.getroottree().docinfo.internalDTD
    if internal is not None and list(internal.iterentities()):
        raise InputError(f"{path} declares XML entities, which are refused. Expand them first.")
    _resolve_character_entities(root)
    _drop_prefixes(root)
    _drop_tex(root)
    return root


def _drop_prefixes(root: Element) -> None:
    """Name the elements of the article's own namespace without it, as nearly all JATS does."""
    namespace = etree.QName(root).namespace
    if namespace:
        for element in root.iter(etree.Element):
            if etree.QName(element).namespace == namespace:
                element.tag = etree.QName(element).localname


def _drop_tex(root: Element) -> None:
    """Leave out `tex-math` that stands beside MathML of the same formula: it is a program, not text."""
    for tex in list(root.iter("{*}tex-math")):
        parent = tex.getparent()
        if parent is not None and name_of(parent) == "alternatives" and len(parent) > 1:
            parent.remove(tex)


def _resolve_character_entities(root: Element) -> None:
    """Put the character in place of `&nbsp;` and its like, which the (unread) JATS DTD defines."""
    for entity in list(root.iter(etree.Entity)):
        text = html.unescape(entity.text or "") + (entity.tail or "")
        parent, previous = entity.getparent(), entity.getprevious()
        if parent is None:
            continue
        if previous is None:
            parent.text = (parent.text or "") + text
        else:
            previous.tail = (previous.tail or "") + text
        parent.remove(entity)


def _references(root: Element) -> Iterator[JatsReference]:
    refs = [element for element in root.iter(etree.Element) if name_of(element) == "ref"]
    for number, ref in enumerate(refs, start=1):
        reference_id = ref.get("id") or f"ref{number}"
        works = _works(ref)
        for part, citations in enumerate(works, start=1):
            suffix = f".{part}" if len(works) > 1 else ""
            yield _reference(reference_id + suffix, citations)


def _works(ref: Element) -> list[list[Element]]:
    """The citations of a `ref`, those of one work together.

    `citation-alternatives` is one work. Without it, as many mixed citations as tagged ones are pairs of
    them; several works may stand under one number (a, b, c). Citations without text are left out.
    """
    works = []
    mixed: list[Element] = []
    elements: list[Element] = []
    for child in ref.iter(etree.Element):
        name = name_of(child)
        if name == "citation-alternatives":
            works.append([c for c in child.iter(etree.Element) if _is_citation(c)])
        elif _is_citation(child) and not _in_alternatives(child, ref):
            (mixed if name in _MIXED else elements).append(child)
    if len(mixed) == len(elements):
        works += [[m, e] for m, e in zip(mixed, elements, strict=True)]
    else:
        works += [[citation] for citation in mixed or elements]
    return [work for work in works if work]


def _is_citation(element: Element) -> bool:
    return name_of(element) in _MIXED | _ELEMENT and bool(text_of(element).strip())


def _in_alternatives(citation: Element, ref: Element) -> bool:
    for above in citation.iterancestors():
        if above is ref:
            return False
        if name_of(above) == "citation-alternatives":
            return True
    return False


def _reference(reference_id: str, citations: Sequence[Element]) -> JatsReference:
    mixed = [c for c in citations if name_of(c) in _MIXED]
    elements = [c for c in citations if name_of(c) in _ELEMENT]
    gold = next((c for c in mixed if _is_tagged(c)), None)
    if gold is None:
        gold = (elements or mixed)[0]
    texts = tuple(text_of(citation) for citation in mixed or elements)
    return JatsReference(reference_id, _serialize(gold), texts, "mixed" if mixed else "element")


def _is_tagged(citation: Element) -> bool:
    names = ("surname", "source", "article-title", "chapter-title", "collab", "year")
    return sum(bool(values) for values in read_values(citation, names).values()) >= 2


def _serialize(element: Element) -> str:
    alone = copy.deepcopy(element)
    alone.tail = None
    etree.cleanup_namespaces(alone)
    xml: str = etree.tostring(alone, encoding="unicode")
    return xml


def _doi(root: Element) -> str | None:
    for element in _front(root).iter("{*}article-id"):
        if element.get("pub-id-type") == "doi":
            return text_of(element) or None
    return None


def _front(root: Element) -> Element:
    front = root.find("{*}front")
    return root if front is None else front


def _first_text(root: Element, name: str) -> str | None:
    element = next(_front(root).iter(f"{{*}}{name}"), None)
    return None if element is None else collapse(text_of(element)) or None
