"""From the engine's marks to the values of a reference, annotated as a cataloguer would.

A mark says which variable printed which characters. What remains is where a value ends (no closing
period, no label, no quotation marks) and which JATS element it is in a work of this kind. A reference
in which that is not certain raises `Unplaced`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reno_dspy.jats.spans import Span
from reno_dspy.synthesize.kinds import Work
from reno_dspy.synthesize.marks import Mark
from reno_dspy.synthesize.names import people_spans
from reno_dspy.synthesize.styles import Initials
from reno_dspy.synthesize.trim import Unplaced, bare_number, trimmed

# Variable -> element, where that does not depend on the kind of work.
_SIMPLE = {
    "container-title": "source", "container-title-short": "source", "volume": "volume",
    "issue": "issue", "publisher": "publisher-name", "publisher-place": "publisher-loc",
    "collection-title": "series", "collection-number": "volume", "event-title": "conf-name",
    "event": "conf-name", "event-place": "conf-loc", "version": "version", "status": "comment",
    "DOI": "pub-id", "PMID": "pub-id", "PMCID": "pub-id", "ISBN": "pub-id", "ISSN": "pub-id",
    "URL": "uri", "number": "pub-id",
}  # fmt: skip
_TITLES = {
    "journal": "article-title", "confproc": "article-title", "newspaper": "article-title",
    "preprint": "article-title", "chapter": "chapter-title", "data": "data-title",
}  # fmt: skip
# Kinds whose title is a part's where what it is a part of is printed, and a whole's where not.
_PART_OR_WHOLE = frozenset(
    {"webpage", "legal-doc", "other", "report", "software", "standard", "patent"}
)
_RANGE = re.compile(r"([^\s,;–—‐‑−~～-]+)\s*[–—‐‑−~～-]+\s*([^\s,;–—‐‑−~～-]+)")
_ARTICLE_NUMBER = re.compile(r"e\d+|[A-Za-z]{1,3}\d{3,}|0\d{4,}|\d{5,}")
_PAGE_UNIT = re.compile(
    r"\s?(?:pp?|pgs?|págs?|pages?|páginas?|Seiten|S|s|с|стр|str|sid|sivua|hlm|f|h|l|leaves|页|頁|ページ|쪽)"
    r"(?![^\W\d_])\.?"
)
_PLACES = re.compile(
    r"\s*;\s+|\s*/\s*|\s(?:&|and|und|et|e|y|dan|–)\s+(?!Herzegovina|Tobago|Nevis|Barbuda|Príncipe)"
)
# Cities that publishers name two of, with a comma between.
_CITIES = frozenset(
    """
    Amsterdam Barcelona Berlin Boston Chicago Dordrecht Frankfurt Heidelberg Leiden Leipzig Lisboa London
    Madrid Milano München Oxford Paris Philadelphia Roma Stuttgart Toronto Tübingen Wien
    """.split()  # noqa: SIM905
) | {"New York"}


@dataclass(frozen=True)
class _Run:
    """Characters [start, end) that one variable printed."""

    start: int
    end: int


class _Reference:
    """A printed reference and its marks, by what they mark."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self.text = text
        self._runs: dict[tuple[str, str], list[_Run]] = {}
        for mark in marks:
            runs = self._runs.setdefault((mark.kind, mark.name), [])
            if runs and self._joins(runs[-1].end, mark.start):
                runs[-1] = _Run(runs[-1].start, max(runs[-1].end, mark.end))
            else:
                runs.append(_Run(mark.start, mark.end))

    def _joins(self, end: int, start: int) -> bool:
        """Whether what stands between two marks of one variable leaves them one value."""
        return re.fullmatch(r"[^\w()\[\]]{0,3}", self.text[end : max(end, start)]) is not None

    def all(self, kind: str, name: str) -> list[_Run]:
        """Every place where this is printed."""
        return self._runs.get((kind, name), [])

    def one(self, kind: str, name: str) -> _Run | None:
        """Where this is printed, None where it is not. Raises Unplaced if it is printed twice."""
        runs = self.all(kind, name)
        if len(runs) > 1:
            raise Unplaced("printed_twice")
        return runs[0] if runs else None

    def dates(self, name: str) -> list[_Run]:
        """Every part of the date `name`."""
        return [
            run
            for (kind, which), runs in self._runs.items()
            if kind == "date" and which.split(" ")[0] == name
            for run in runs
        ]


def place(text: str, marks: Sequence[Mark], work: Work, initials: Initials) -> list[Span]:
    """The values of `work` in its printed `text`, disjoint and in order.

    `initials` is how the style writes them. Raises Unplaced.
    """
    reference = _Reference(text, marks)
    spans = [
        *_label(reference),
        *people_spans(text, marks, work, initials),
        *_title(reference, work),
        *_variables(reference, work),
        *_pages(reference, work.csl),
        *_dates(reference, work.csl),
        *_edition(reference),
        *_size(reference),
    ]
    return _disjoint(spans)


def _label(reference: _Reference) -> Iterable[Span]:
    """The number in front, with its brackets or stop."""
    for name in ("citation-number", "citation-label"):
        for run in reference.all("var", name):
            if re.fullmatch(r"[\[(]?", reference.text[: run.start]):
                end = re.compile(r"[\])]?[.:]?").match(reference.text, run.end)
                yield Span(0, end.end() if end else run.end, "label")


def _title(reference: _Reference, work: Work) -> Iterable[Span]:
    run = reference.one("var", "title")
    if run is None:
        return
    container = bool(reference.all("var", "container-title"))
    field = _TITLES.get(
        work.form, "article-title" if container and work.form in _PART_OR_WHOLE else "source"
    )
    text = reference.text
    if "translated-title" in work.csl and (opened := text.rfind(" [", run.start, run.end)) > 0:
        yield from trimmed(text, run.start, opened, field)
        closed = text.find("]", opened)
        yield from trimmed(text, opened + 2, closed if closed > 0 else run.end, "trans-title")
    else:
        yield from trimmed(text, run.start, run.end, field)


def _variables(reference: _Reference, work: Work) -> Iterable[Span]:
    container = bool(reference.all("var", "container-title"))
    for name, field in _SIMPLE.items():
        run = reference.one("var", name)
        if run is None:
            continue
        if name == "publisher" and work.form in ("data", "preprint") and not container:
            field = "source"
        if name == "number" and work.form == "journal":
            field = "elocation-id"
        yield from _value(reference.text, run, name, field, work)


def _value(text: str, run: _Run, name: str, field: str, work: Work) -> Iterable[Span]:
    """What one variable printed, as one or several values."""
    if name in ("volume", "issue", "collection-number"):
        yield from bare_number(text, run.start, run.end, field)
    elif name == "publisher-place":
        yield from _several_places(text, run)
    elif name in ("DOI", "URL"):
        yield from _address(text, run)
    elif arxiv := re.compile(r"(.*?)\s*\barXiv:\s*(\d{4}\.\d{4,5})").match(
        text, run.start, run.end
    ):
        if "arXiv" in arxiv[1] and name != "number":
            yield Span(run.start, run.start + len("arXiv"), "source")
        yield Span(arxiv.start(2), arxiv.end(2), "pub-id")
    else:
        role = name.lower() if name in ("ISBN", "ISSN", "PMID", "PMCID") else None
        yield from trimmed(text, run.start, run.end, field, role or _number_role(name))


def _number_role(name: str) -> str | None:
    return "other" if name == "number" else None


def _several_places(text: str, run: _Run) -> Iterable[Span]:
    """Each place by itself: `London and New York` are two."""
    value = text[run.start : run.end]
    borders = [match.span() for match in _PLACES.finditer(value)]
    parts = re.split(r",\s*", value)
    if len(parts) > 1 and all(part.strip(" .") in _CITIES for part in parts):
        borders = [match.span() for match in re.finditer(r",\s*", value)]
    start = 0
    for begin, end in [*borders, (len(value), len(value))]:
        yield from trimmed(text, run.start + start, run.start + begin, "publisher-loc")
        start = end


def _address(text: str, run: _Run) -> Iterable[Span]:
    """A DOI without the resolver's address before it, or another address."""
    value = text[run.start : run.end]
    resolver = re.match(r"(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*", value, re.IGNORECASE)
    start = run.start + (resolver.end() if resolver else 0)
    end = start + len(text[start : run.end].rstrip(".,;: "))
    if text.startswith("10.", start):
        yield Span(start, end, "pub-id", "doi")
    elif resolver is None and end > start:
        yield Span(start, end, "uri")


def _pages(reference: _Reference, csl: Mapping[str, object]) -> Iterable[Span]:
    run = reference.one("var", "page") or reference.one("var", "page-first")
    if run is None:
        return
    text = reference.text
    start, end = run.start, run.end
    while end > start and not text[end - 1].isalnum():
        end -= 1
    if word := re.compile(r"Article\s+").match(text, start, end):
        yield Span(word.end(), end, "elocation-id")
    elif pair := _RANGE.fullmatch(text, start, end):
        yield Span(*pair.span(1), "fpage")
        yield Span(*pair.span(2), "lpage")
    elif re.search(r"[,;]", text[start:end]):
        yield Span(start, end, "page-range")
    elif _ARTICLE_NUMBER.fullmatch(text, start, end) and csl["type"] == "article-journal":
        yield Span(start, end, "elocation-id")
    elif re.fullmatch(r"[\w.]+", text[start:end]):
        yield Span(start, end, "fpage")


def _dates(reference: _Reference, csl: Mapping[str, object]) -> Iterable[Span]:
    issued = csl.get("issued")
    season = isinstance(issued, Mapping) and "season" in issued
    text = reference.text
    for part in ("year", "month", "day"):
        run = reference.one("date", f"issued {part}")
        if run is None:
            continue
        field = "season" if part == "month" and season else part
        if part == "month":
            # A short month's full stop is its own.
            whole = len(text[run.start : run.end].rstrip(".")) > 5
            end = run.end - (whole and text[run.end - 1] == ".")
            yield from trimmed(text, run.start, end, field, keep_stop=not whole)
        elif number := re.compile(r"\d+").search(text, run.start, run.end):
            yield Span(*number.span(), field)
    for name, field in (("accessed", "date-in-citation"), ("original-date", "comment")):
        runs = reference.dates(name)
        if runs:
            start, end = min(run.start for run in runs), max(run.end for run in runs)
            if end - start > 40:
                raise Unplaced("printed_twice")
            yield from trimmed(text, start, end, field)
    for term in ("no date", "in press"):
        for run in reference.all("term", term):
            yield from trimmed(text, run.start, run.end, "comment", keep_stop=True)


def _edition(reference: _Reference) -> Iterable[Span]:
    """`2nd ed.`: the number and the word for it, in either order."""
    run = reference.one("var", "edition")
    if run is None:
        return
    start, end = run.start, run.end
    for term in reference.all("term", "edition"):
        if (
            re.fullmatch(r"[\s.]{0,2}", reference.text[end : max(end, term.start)])
            and term.start >= end
        ):
            end = term.end
        elif re.fullmatch(r"[\s.]{0,2}", reference.text[term.end : start]) and term.end <= start:
            start = term.start
    yield from trimmed(reference.text, start, end, "edition", keep_stop=True)


def _size(reference: _Reference) -> Iterable[Span]:
    """`214 p.`: the number of pages and the word after it."""
    run = reference.one("var", "number-of-pages")
    if run is not None:
        unit = _PAGE_UNIT.match(reference.text, run.end)
        yield from trimmed(
            reference.text, run.start, unit.end() if unit else run.end, "size", keep_stop=True
        )


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """`spans` in order. Raises Unplaced where two overlap."""
    kept: list[Span] = []
    for span in sorted(set(spans), key=lambda span: (span.start, span.end)):
        if kept and span.start < kept[-1].end:
            raise Unplaced("overlap")
        kept.append(span)
    return kept
