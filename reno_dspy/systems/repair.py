"""What rules know better than a model that labels words, for every system that writes tags in place.

Before the model, `prepared` composes decomposed letters and takes off the number that a list put in
front. After it, `repaired` mends the spans: identifiers are found by their form, `et al.` is whole, one
person is never two. The annotation has the reference's own characters, as they stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reno_dspy.jats import clean
from reno_dspy.jats.clean import links, people
from reno_dspy.jats.clean.edits import value_of
from reno_dspy.jats.elements import NAME_PARTS
from reno_dspy.jats.phrases import leading_label
from reno_dspy.jats.spans import Span
from reno_dspy.jats.text import composed

if TYPE_CHECKING:
    # Only training has lessons, and they bring the libraries of data sets with them.
    from reno_dspy.data.lessons import Lesson

# Between two pieces of one word: a hyphen (Hebrew's too), an apostrophe, or nothing.
_WITHIN_WORD = re.compile(r"\s?[-\u2010\u2011\u05be]\s?|['\u2019\u05f3]|")
_SPACE = re.compile(r"[ \u00a0]")
# Scripts that put a space between people, not between the parts of a name.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# What a surname of several words begins with.
_PARTICLE = re.compile(
    r"d[aeiou]s?|del|della|dell|den|der|des|el|al|la|le|lo|los|las|ben|bin|ibn|ter|ten|te|van|von|vom|"
    r"zu|zum|zur|af|av|mac|mc|st|saint|san|santa|abu|abd",
    re.IGNORECASE,
)
_BARE_INITIALS = re.compile(r"[^\W\d_a-zß-ÿ]{1,3}")
_WITHIN_PERSON = re.compile(r"[\s.,\u00a0]{0,3}")


@dataclass(frozen=True)
class Prepared:
    """A reference as a model reads it: `text`, whose character i stands at `starts[i]` of `reference`.

    The last of `starts` is where the reference ends. `label` is the list's number, in `reference`.
    """

    reference: str
    text: str
    starts: Sequence[int]
    label: Span | None

    def spans(self, labelled: Iterable[Span]) -> list[Span]:
        """`labelled`, the model's spans of `text`, repaired, as spans of the reference."""
        mended = repaired(self.text, labelled)
        moved = [replace(s, start=self.starts[s.start], end=self.starts[s.end]) for s in mended]
        return [self.label, *moved] if self.label else moved


def prepared(reference: str) -> Prepared:
    """`reference` composed (NFC) and without a list's number."""
    text, starts = composed(reference)
    found = leading_label(text)
    if found is None:
        return Prepared(reference, text, starts, None)
    end = len(text) - len(text[found[1] :].lstrip())
    label = Span(starts[found[0]], starts[found[1]], "label")
    return Prepared(reference, text[end:], starts[end:], label)


def as_read(lesson: Lesson) -> Lesson:
    """`lesson` as the model will read its reference: prepared, with the gold's spans moved along."""
    read = prepared(lesson.plaintext)
    at = {start: i for i, start in enumerate(read.starts)}
    spans = (
        replace(span, start=at[span.start], end=at[span.end])
        for span in lesson.spans
        if span.start in at and span.end in at
    )
    return replace(lesson, plaintext=read.text, spans=tuple(spans))


def repaired(text: str, spans: Iterable[Span]) -> list[Span]:
    """The disjoint `spans` that a model gave to `text`, mended by every rule in turn."""
    current = sorted(spans)
    for rule in RULES:
        current = clean.disjoint(rule(text, current))
    return current


def without_marks(text: str, spans: list[Span]) -> list[Span]:
    """Punctuation alone is no value."""
    return [span for span in spans if re.search(r"\w", value_of(text, span))]


def whole_words(text: str, spans: list[Span]) -> list[Span]:
    """Two pieces of a person's name that a hyphen or nothing separates are one part of it."""

    def join(one: Span, other: Span) -> bool:
        gap = _WITHIN_WORD.fullmatch(text, one.end, other.start)
        hyphenated = other.start > one.end or text[one.end - 1] in "-\u2010\u2011\u05be"
        return gap is not None and (one.field == other.field or hyphenated)

    return _joined(spans, join)


def whole_parts(text: str, spans: list[Span]) -> list[Span]:
    """Two pieces of one part of a name that a space separates are one: `Ruiz Salcedo`, `Anna Maria`."""

    def join(one: Span, other: Span) -> bool:
        spaced = _SPACE.fullmatch(text, one.end, other.start)
        return (
            spaced is not None
            and one.field == other.field
            and not _UNSPACED.match(text, other.start)
        )

    return _joined(spans, join)


def _joined(spans: list[Span], join: Callable[[Span, Span], bool]) -> list[Span]:
    made: list[Span] = []
    for span in spans:
        last = made[-1] if made else None
        parts = last is not None and {last.field, span.field} <= NAME_PARTS
        if last and parts and last.role == span.role and join(last, span):
            made[-1] = replace(last, end=span.end)
        else:
            made.append(span)
    return made


def natural_order(text: str, spans: list[Span]) -> list[Span]:
    """Two surnames in a row without given names beside them are `Given Surname`, but for `Di Surname`."""
    made = list(spans)
    for i in range(1, len(made)):
        one, other = made[i - 1], made[i]
        if (
            one.field == other.field == "surname"
            and one.role == other.role
            and _SPACE.fullmatch(text, one.end, other.start)
            and not _PARTICLE.fullmatch(value_of(text, one))
            and not _UNSPACED.match(text, other.start)
            and not _has_partner(text, made, i - 1, -1)
            and not _has_partner(text, made, i, 1)
        ):
            made[i - 1] = replace(one, field="given-names")
    return made


def surname_before_initials(text: str, spans: list[Span]) -> list[Span]:
    """A word before bare initials belongs to the surname: `Santa Helena ET`."""
    made = list(spans)
    for i in range(1, len(made)):
        word, initials = made[i - 1], made[i]
        if (
            word.field == initials.field == "given-names"
            and word.role == initials.role
            and text[word.end : initials.start].strip() == ""
            and re.fullmatch(r"[^\W\d_][^\W\d_]+", value_of(text, word))
            and not value_of(text, word).isupper()
            and _BARE_INITIALS.fullmatch(text, initials.start, initials.end)
            and not text.startswith(".", initials.end)
            and not _is_before_surname(text, made, i)
        ):
            made[i - 1] = replace(word, field="surname")
    return made


def _is_before_surname(text: str, spans: Sequence[Span], i: int) -> bool:
    following = spans[i + 1] if i + 1 < len(spans) else None
    if following is None or following.field != "surname":
        return False
    return text[spans[i].end : following.start].strip() == ""


def one_role(text: str, spans: list[Span]) -> list[Span]:
    """A surname and given names side by side, each without another partner, have one role."""
    made = list(spans)
    for i in range(len(made) - 1):
        one, other = made[i], made[i + 1]
        if (
            {one.field, other.field} == {"surname", "given-names"}
            and one.role != other.role
            and _WITHIN_PERSON.fullmatch(text, one.end, other.start)
            and not _has_partner(text, made, i, -1)
            and not _has_partner(text, made, i + 1, 1)
        ):
            # A surname is told better than given names.
            role = one.role if one.field == "surname" else other.role
            made[i], made[i + 1] = replace(one, role=role), replace(other, role=role)
    return made


def _has_partner(text: str, spans: Sequence[Span], i: int, step: int) -> bool:
    """Whether the span has another name's part of its role beside it, on the side of `step`.

    Behind a comma it has none where that part stands closer to the name after it: `Ito, Ken Oe`.
    """
    gap = _gap(text, spans, i, step)
    if gap is None:
        return False
    beyond = _gap(text, spans, i + step, step) if "," in gap else None
    return beyond is None or "," in beyond


def _gap(text: str, spans: Sequence[Span], i: int, step: int) -> str | None:
    """What separates a surname from given names of its role beside it; None where these are not."""
    if not 0 <= i + step < len(spans):
        return None
    first, second = sorted((spans[i], spans[i + step]))
    fields, gap = {first.field, second.field}, text[first.end : second.start]
    if fields != {"surname", "given-names"} or first.role != second.role:
        return None
    return gap if _WITHIN_PERSON.fullmatch(gap) else None


def whole_etal(text: str, spans: list[Span]) -> list[Span]:
    """`et al.` behind a name is one value, with its full stop."""
    return people.etal(text, spans, None)


def identified(text: str, spans: list[Span]) -> list[Span]:
    """Identifiers and addresses are found by their form, whatever the model made of them."""
    return links.edges(text, links.tagged(text, spans, ()), None)


def conventional(text: str, spans: list[Span]) -> list[Span]:
    """Values begin and end as in the rows that models learn, whichever publisher they learnt them from."""
    for name in _CONVENTIONS:
        spans = clean.RULES[name](text, spans, None)
    return spans


# Those rules of cleaning that need no gold: they say where a value ends, not what there is.
_CONVENTIONS = (
    "years", "access_dates", "suffixes", "initials", "name_edges", "title_edges", "publisher_edges",
    "editions", "volume_and_page_marks", "issues", "pages",
)  # fmt: skip
RULES: tuple[Callable[[str, list[Span]], list[Span]], ...] = (
    identified, without_marks, whole_words, surname_before_initials, natural_order, whole_parts, one_role,
    whole_etal, conventional,
)  # fmt: skip
