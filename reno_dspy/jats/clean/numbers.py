"""Rules of cleaning for labels, dates, volumes, issues and pages."""

from __future__ import annotations

import re
from dataclasses import replace

from reno_dspy.jats.clean.edits import Spans, cut, each, overlapping, put, stripped, value_of
from reno_dspy.jats.elements import PEOPLE, WHOLE_PEOPLE
from reno_dspy.jats.phrases import ACCESSED, NO_DATE, leading_label
from reno_dspy.jats.spans import Span

_VOLUME = re.compile(
    r"(?:v|vol|volume|bd|band|t|tome|tomo|jg|jahrgang)s?\b\.?\s*(\S.*)", re.IGNORECASE
)
_ISSUE = re.compile(
    r"(?:n|nº|n°|no|nr|num|núm|issue|iss|heft|h|fasc|№)\b\.?\s*(\S.*)", re.IGNORECASE
)
_PAGE = re.compile(r"(?:pp?|pgs?|págs?|pages?|s|seiten?|с|c)\.\s*(\S.*)", re.IGNORECASE)
_WITH_ISSUE = re.compile(r"(\w+)\s*\(([^()]+)\)")
_SUPPLEMENT = re.compile(r"(?:\d+[\s,]+)?Supp?l(?:emento?)?\.?\s*\Z", re.IGNORECASE)
_RANGE = re.compile(r"(\w+)\s*[-\u2010-\u2015]+\s*(\w+)")
_ARTICLE_NUMBER = re.compile(r"e\d{3,}|0\d{4,}|e\w*\d{5,}", re.IGNORECASE)
_YEAR = re.compile(r"\W*(\d{4})\s?[a-z]?\W*")
_DATES = ("year", "month", "day", "season")
_MARKS = {"volume": _VOLUME, "issue": _ISSUE, "fpage": _PAGE, "lpage": _PAGE, "page-range": _PAGE}
# Brackets around a value, or one alone at its edge.
_ONE_BRACKET = re.compile(r"[(\[][^()\[\]]*[)\]]?|[^()\[\]]*[)\]]")


def label(text: str, spans: Spans, _: str | None) -> Spans:
    """The number that a list put in front is a label; one alone only before a name."""
    found = leading_label(text)
    if found is None:
        return spans
    following = next((span for span in spans if span.start >= found[1]), None)
    alone = text[found[0] : found[1]].isdigit()
    if alone and (following is None or following.field not in PEOPLE | WHOLE_PEOPLE):
        return spans
    return put(text, spans, Span(*found, "label"))


def years(text: str, spans: Spans, _: str | None) -> Spans:
    """A year is its digits; what is no date (`in press`, `s.d.`) is a comment."""
    made = each(text, spans, ("year",), lambda span: cut(text, span, _YEAR))
    return [
        replace(span, field="comment")
        if span.field == "year" and not re.search(r"\d", value_of(text, span))
        else span
        for span in made
    ]


def comments(text: str, spans: Spans, _: str | None) -> Spans:
    """Of remarks, those that stand for a date are kept."""

    def stays(span: Span) -> bool:
        return (
            span.field != "comment"
            or NO_DATE.fullmatch(value_of(text, span).strip("()[] ")) is not None
        )

    return each(
        text, list(filter(stays, spans)), ("comment",), lambda s: stripped(text, s, "()[],;:")
    )


def access_dates(text: str, spans: Spans, _: str | None) -> Spans:
    """The date on which a page was read is one value, without the words before it."""
    for found in ACCESSED.finditer(text):
        parts = [
            s for s in spans if s.field in (*_DATES, "date-in-citation") and s.end > found.start()
        ]
        whole = _together(text, parts, found.end())
        if whole:
            rest = [s for s in spans if s not in parts or s.start >= whole.end]
            spans = put(text, rest, stripped(text, whole, "[]().,;:"))
    return each(text, spans, ("date-in-citation",), lambda span: stripped(text, span, "[](),;:."))


def _together(text: str, parts: Spans, start: int) -> Span | None:
    """The parts of a date that begin at `start`, as one."""
    end = start
    for span in sorted(parts):
        if span.end > start and re.fullmatch(r"[\s,./-]{0,3}", text[end : max(end, span.start)]):
            end = span.end
        elif span.start > end:
            break
    if end == start:
        return None
    # Of `2019-08-20` often the year alone is tagged.
    rest = re.compile(r"(?:[-./]\d{1,2}(?!\d)){0,2}").match(text, end)
    return Span(start, rest.end() if rest else end, "date-in-citation")


def marks(text: str, spans: Spans, _: str | None) -> Spans:
    """Volume, issue and pages are bare, without `v.`, `n.`, `pp.` and brackets."""

    def change(span: Span) -> Span:
        bare = stripped(text, span, ".,;:")
        if _ONE_BRACKET.fullmatch(value_of(text, bare)):
            bare = stripped(text, bare, "()[]")
        return cut(text, bare, _MARKS[span.field])

    return each(text, spans, _MARKS, change)


def issues(text: str, spans: Spans, _: str | None) -> Spans:
    """`52(Suppl. 4)` is a volume and an issue; a supplement is an issue with its word."""
    made: Spans = []
    for span in spans:
        both = _WITH_ISSUE.fullmatch(value_of(text, span)) if span.field == "volume" else None
        if both:
            made.append(replace(span, end=span.start + both.end(1)))
            made.append(Span(span.start + both.start(2), span.start + both.end(2), "issue"))
        elif span.field == "supplement" or span.field == "issue":
            word = _SUPPLEMENT.search(text[: span.start])
            start = word.start() if word else span.start
            made = [s for s in made if not (s.field == "issue" and s.start >= start)]
            free = not overlapping(made, start, span.end)
            made.append(Span(start if free else span.start, span.end, "issue"))
        else:
            made.append(span)
    return made


def pages(text: str, spans: Spans, _: str | None) -> Spans:
    """One page or one range is `fpage` and `lpage`; an article's number is none of them."""
    made: Spans = []
    last_pages = any(span.field == "lpage" for span in spans)
    for span in spans:
        value = value_of(text, span)
        both = _RANGE.fullmatch(value) if span.field in ("page-range", "fpage") else None
        single = span.field in ("fpage", "issue") and not last_pages and not both
        if single and _ARTICLE_NUMBER.fullmatch(value):
            made.append(replace(span, field="elocation-id"))
        elif both:
            made.append(Span(span.start, span.start + both.end(1), "fpage"))
            made.append(Span(span.start + both.start(2), span.end, "lpage"))
        elif (span.field == "page-range" and value.isdigit()) or (
            span.field == "size" and text[: span.start].endswith(":")
        ):
            made.append(replace(span, field="fpage"))
        else:
            made.append(span)
    return made
