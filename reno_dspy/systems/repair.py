"""What rules know better than a model that labels words, for every system that writes tags in place.

Before the model, `prepared` composes decomposed letters and takes off the number that a list put in
front. After it, `repaired` mends the spans: identifiers are found by their form, `et al.` is whole, one
person is never two. The annotation has the reference's own characters, as they stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from reno_dspy.jats.clean import links, people
from reno_dspy.jats.clean.edits import value_of
from reno_dspy.jats.elements import NAME_PARTS
from reno_dspy.jats.phrases import leading_label
from reno_dspy.jats.spans import Span
from reno_dspy.jats.text import composed

# Between two pieces of one name: a space, a hyphen (Hebrew's too), an apostrophe, or nothing.
_WITHIN_NAME = re.compile(r"[ \u00a0]?[-\u2010\u2011\u05be]?[ \u00a0]?|['\u2019\u05f3]")
# Scripts that put a space between people, not between the parts of a name.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
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


def repaired(text: str, spans: Iterable[Span]) -> list[Span]:
    """The disjoint `spans` that a model gave to `text`, mended by every rule in turn."""
    current = sorted(spans)
    for rule in RULES:
        current = sorted(rule(text, current))
    return current


def without_marks(text: str, spans: list[Span]) -> list[Span]:
    """Punctuation alone is no value."""
    return [span for span in spans if re.search(r"\w", value_of(text, span))]


def whole_names(text: str, spans: list[Span]) -> list[Span]:
    """Two pieces of a name's part that nothing else separates are one."""
    made: list[Span] = []
    for span in spans:
        last = made[-1] if made else None
        if (
            last
            and span.field in NAME_PARTS
            and (last.field, last.role) == (span.field, span.role)
            and _WITHIN_NAME.fullmatch(text, last.end, span.start)
            and not (last.end < span.start and _UNSPACED.match(text, span.start))
        ):
            made[-1] = replace(last, end=span.end)
        else:
            made.append(span)
    return made


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
    """Whether the span has another name's part of its role beside it, on the side of `step`."""
    if not 0 <= i + step < len(spans):
        return False
    first, second = sorted((spans[i], spans[i + step]))
    return (
        {first.field, second.field} == {"surname", "given-names"}
        and first.role == second.role
        and _WITHIN_PERSON.fullmatch(text, first.end, second.start) is not None
    )


def whole_etal(text: str, spans: list[Span]) -> list[Span]:
    """`et al.` behind a name is one value, with its full stop."""
    return people.etal(text, spans, None)


def identified(text: str, spans: list[Span]) -> list[Span]:
    """Identifiers and addresses are found by their form, whatever the model made of them."""
    return links.edges(text, links.tagged(text, spans, ()), None)


RULES: tuple[Callable[[str, list[Span]], list[Span]], ...] = (
    identified, without_marks, whole_names, one_role, whole_etal,
)  # fmt: skip
