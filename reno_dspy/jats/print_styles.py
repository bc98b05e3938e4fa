"""A tagged citation as print would set it, in several common orders.

`element-citation` holds fields and no punctuation, so that its stripped text is far from any printed
reference. For matching (paper, section 2.2) it is also compared in these forms; the better counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

from reno_dspy.jats.citation import read_values, text_of
from reno_dspy.jats.elements import LEAVES
from reno_dspy.jats.text import collapse

_READ = (*LEAVES, "ext-link")
_NAMES = {"name", "string-name"}
_UNPRINTED = frozenset({"pub-id", "object-id", "ext-link", "uri"})


@dataclass(frozen=True)
class Name:
    """A person's name, or a corporate one (no given names)."""

    surname: str
    given: str = ""

    @property
    def initials(self) -> list[str]:
        """`Stacy S.` -> S, S; `PV` -> P, V."""
        if re.fullmatch(r"[^\W\d_a-z]{1,3}", self.given):
            return list(self.given)
        return [part[0] for part in re.split(r"[\s.]+", self.given) if part]


@dataclass(frozen=True)
class _Fields:
    names: tuple[Name, ...]
    editors: tuple[Name, ...]
    etal: bool
    values: Mapping[str, tuple[str, ...]]

    def __getitem__(self, name: str) -> str:
        found = self.values[name]
        return found[0] if found else ""

    @property
    def title(self) -> str:
        return self["article-title"] or self["chapter-title"] or self["part-title"]

    @property
    def pages(self) -> str:
        if self["fpage"] and self["lpage"] and self["lpage"] != self["fpage"]:
            return f"{self['fpage']}–{self['lpage']}"
        return self["fpage"] or self["page-range"] or self["elocation-id"]

    @property
    def publisher(self) -> str:
        return ": ".join(filter(None, (self["publisher-loc"], self["publisher-name"])))

    @property
    def link(self) -> str:
        doi = next((v for v in self.values["pub-id"] if v.startswith("10.")), "")
        return f"https://doi.org/{doi}" if doi else self["uri"] or self["ext-link"]


def renderings(citation: etree._Element) -> dict[str, str]:
    """Style -> printed form; each style with (`+link`) and without the DOI or address."""
    fields = _read(citation)
    forms: dict[str, str] = {}
    for style, render in _STYLES.items():
        text = _tidy(render(fields))
        forms[style] = text
        if fields.link:
            forms[f"{style}+link"] = f"{text} {fields.link}"
    return forms


def without_ids(citation: etree._Element) -> str:
    """The text of a mixed citation without identifiers and links, and with its parts set apart."""

    def pieces(element: etree._Element) -> Iterator[str]:
        if _local(element) not in _UNPRINTED:
            yield element.text or ""
            for child in element:
                yield from pieces(child)
                yield child.tail or ""

    return _tidy(" ".join(pieces(citation)))


def _read(citation: etree._Element) -> _Fields:
    people: dict[bool, list[Name]] = {False: [], True: []}
    for is_editor, name in _people(citation):
        people[is_editor].append(name)
    etal = any(_local(element) == "etal" for element in citation.iter())
    values = read_values(citation, _READ)
    if values["article-title"] and values["source"] and values["volume"]:
        # No style prints who publishes a journal, though some publishers tag it.
        values = {**values, "publisher-name": (), "publisher-loc": ()}
    return _Fields(
        tuple(people[False] or people[True]),
        tuple(people[True] if people[False] else ()),
        etal,
        values,
    )


def _people(citation: etree._Element) -> Iterator[tuple[bool, Name]]:
    for element in citation.iter():
        kind = _local(element)
        if kind in _NAMES:
            values = read_values(element, ("surname", "given-names"))
            surname = " ".join(values["surname"]) or text_of(element)
            name = Name(surname, " ".join(values["given-names"]))
        elif kind in ("collab", "institution") and (text := collapse(" ".join(element.itertext()))):
            name = Name(text)
        else:
            continue
        groups = (a.get("person-group-type") for a in element.iterancestors())
        yield "editor" in groups, name


def _local(element: etree._Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _listed(names: Sequence[Name], form: Callable[[Name], str], sep: str, last: str = "") -> str:
    shown = [form(name) for name in names]
    if last and len(shown) > 1:
        return f"{sep.join(shown[:-1])}{last}{shown[-1]}"
    return sep.join(shown)


def _dotted(name: Name) -> str:
    initials = " ".join(f"{letter}." for letter in name.initials)
    return f"{name.surname}, {initials}" if initials else name.surname


def _packed(name: Name) -> str:
    return f"{name.surname} {''.join(name.initials)}".strip()


def _apa(f: _Fields) -> str:
    names = _listed(f.names, _dotted, ", ", ", & ")
    volume = f"{f['volume']}({f['issue']})" if f["issue"] else f["volume"]
    where = ", ".join(filter(None, (f["source"], volume, f.pages)))
    editors = _listed(
        f.editors, lambda n: f"{' '.join(i + '.' for i in n.initials)} {n.surname}", ", ", " & "
    )
    where = f"In {editors} (Eds.), {where}" if editors else where
    return (
        ". ".join(filter(None, (f"{names} ({f['year']})", f.title, where, f["publisher-name"])))
        + "."
    )


def _full_names(f: _Fields) -> str:
    names = _listed(f.names, lambda n: f"{n.surname}, {n.given}".strip(", "), ", ", ", and ")
    volume = f"{f['volume']} ({f['issue']})" if f["issue"] else f["volume"]
    where = f"{f['source']} {volume}".strip() + (f": {f.pages}" if f.pages else "")
    return ". ".join(filter(None, (names, f["year"], f.title, where, f.publisher))) + "."


def _vancouver(f: _Fields) -> str:
    names = _listed(f.names, _packed, ", ") + (", et al" if f.etal else "")
    volume = f"{f['volume']}({f['issue']})" if f["issue"] else f["volume"]
    numbers = f["year"] + (f";{volume}" if volume else "") + (f":{f.pages}" if f.pages else "")
    return ". ".join(filter(None, (names, f.title, f["source"], f.publisher, numbers))) + "."


def _harvard(f: _Fields) -> str:
    names = _listed(f.names, _packed, ", ") + (" et al" if f.etal else "")
    where = f"{f['source']} {f['volume']}".strip() + (f":{f.pages}" if f.pages else "")
    return f"{names} ({f['year']}) {f.title}. {where}. {f.publisher}"


def _abnt(f: _Fields) -> str:
    names = _listed(f.names, _dotted, "; ").upper()
    parts = (
        f["source"],
        f.publisher,
        f["volume"] and f"v. {f['volume']}",
        f["issue"] and f"n. {f['issue']}",
        f.pages and f"p. {f.pages}",
        f["year"],
    )
    return f"{names} {f.title}. {', '.join(filter(None, parts))}."


def _bracketed_year(f: _Fields) -> str:
    """Names as in Vancouver, the year between volume and pages or at the end in brackets."""
    names = _listed(f.names, _packed, ", ") + (", et al." if f.etal else "")
    where = f"{f['source']}. {f['year']}; {f['volume']}: {f.pages}"
    return f"{names} {f.title}. {where} [{' '.join(f.values['pub-id'])}]"


def _ieee(f: _Fields) -> str:
    names = _listed(
        f.names, lambda n: f"{' '.join(i + '.' for i in n.initials)} {n.surname}", ", ", " and "
    )
    numbers = (
        f["source"], f.publisher, f["volume"] and f"vol. {f['volume']}",
        f["issue"] and f"no. {f['issue']}", f.pages and f"pp. {f.pages}", f["year"],
    )  # fmt: skip
    title = f"“{f.title},” " if f.title else ""
    return f"{names}, {title}{', '.join(filter(None, numbers))}."


def _initials_first(name: Name) -> str:
    return f"{''.join(f'{letter}.' for letter in name.initials)} {name.surname}".strip()


def _springer(f: _Fields) -> str:
    """Physics and chemistry at Springer: `A.B. Author, Source 14(3), 23-30 (2005)`, often untitled."""
    names = _listed(f.names, _initials_first, ", ")
    volume = f"{f['volume']}({f['issue']})" if f["issue"] else f["volume"]
    where = ", ".join(filter(None, (f"{f['source']} {volume}".strip(), f.pages)))
    parts = (names, f.title and f"{f.title}.", where)
    publisher = f"{f['publisher-name']}, {f['publisher-loc']}, " if f["publisher-name"] else ""
    return f"{', '.join(filter(None, parts))} ({publisher}{f['year']})"


def _acs(f: _Fields) -> str:
    names = _listed(f.names, _dotted, "; ")
    title = f"{f.title}. " if f.title else ""
    numbers = ", ".join(filter(None, (f["year"], f["volume"], f.pages)))
    return f"{names} {title}{f['source']} {numbers}. {f.publisher}"


def _wiley(f: _Fields) -> str:
    """Chemistry at Wiley and the RSC: untitled, initials first."""
    names = _listed(f.names, lambda n: f"{' '.join(i + '.' for i in n.initials)} {n.surname}", ", ")
    where = (f["source"], f.publisher, f["year"], f["volume"], f.pages)
    return f"{names}, {', '.join(filter(None, where))}."


def _hindawi(f: _Fields) -> str:
    """Chapters and books at Hindawi: the title in quotes, `in` before the book, the publisher last."""
    names = _listed(f.names, lambda n: f"{' '.join(i + '.' for i in n.initials)} {n.surname}", ", ")
    source = f"in {f['source']}" if f.title else f["source"]
    parts = (
        source, f["volume"] and f"vol. {f['volume']}", f["edition"] and f"{f['edition']} edition",
        f.pages and f"pp. {f.pages}", f["publisher-name"], f["publisher-loc"], f["year"],
    )  # fmt: skip
    title = f"“{f.title},” " if f.title else ""
    return f"{names}, {title}{', '.join(filter(None, parts))}."


def _spandidos(f: _Fields) -> str:
    """Spandidos: a colon after the names, the year at the end."""
    names = _listed(f.names, _packed, ", ", " and ") + (", et al" if f.etal else "")
    where = f"{f['source']} {f['volume']}".strip() + (f": {f.pages}" if f.pages else "")
    return f"{names}: {f.title}. {', '.join(filter(None, (where, f.publisher, f['year'])))}."


_STYLES: dict[str, Callable[[_Fields], str]] = {
    "apa": _apa,
    "full-names": _full_names,
    "vancouver": _vancouver,
    "harvard": _harvard,
    "abnt": _abnt,
    "bracketed": _bracketed_year,
    "ieee": _ieee,
    "springer": _springer,
    "acs": _acs,
    "wiley": _wiley,
    "hindawi": _hindawi,
    "spandidos": _spandidos,
}


def _tidy(text: str) -> str:
    text = collapse(text)
    text = re.sub(r"\s+([.,;:)])", r"\1", text)
    return re.sub(r"([.?!])\.(?=\s|$)", r"\1", text).replace(" ()", "").strip()
