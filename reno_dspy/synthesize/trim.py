"""Where a value ends: without the punctuation that is the reference's and not its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reno_dspy.jats.spans import Span

_BEFORE = " \u00a0\u202f\u2009,;:./|–—-«„“”‘’\"'（，。、：；《〈「『"
_AFTER = " \u00a0\u202f\u2009,;:/|–—-»“”’\"'（，。．、：；》〉」』"
_LABELS = re.compile(
    r"(?:vol(?:ume)?|v|bd|band|t|tome|tom|tomo|том|т|no|nr|nº|n|№|num(?:ber|éro|ero)?|jg|jahrgang|heft|h|"
    r"issue|iss|fasc|pt|part|č|roč|č\.|sv)\.?\s+|[№#]\s*",
    re.IGNORECASE,
)


class Unplaced(Exception):
    """A reference in which a value's place is not certain; says why in a word."""


def trimmed(
    text: str, start: int, end: int, field: str, role: str | None = None, *, keep_stop: bool = False
) -> Iterable[Span]:
    """The value in [start, end) without what surrounds it; nothing where nothing is left.

    A closing bracket stays where its opening one does. `keep_stop`: an abbreviation's full stop is part
    of the value.
    """
    after = _AFTER if keep_stop else _AFTER + "."
    while start < end and text[start] in _BEFORE:
        start += 1
    while end > start and text[end - 1] in after:
        end -= 1
    value = text[start:end]
    for opening, closing in ("()", "[]"):
        if value.endswith(closing) and opening not in value:
            end -= 1
        elif value.startswith(opening) and closing not in value:
            start += 1
        elif value.startswith(opening) and value.find(closing) == len(value) - 1 and len(value) > 2:
            start, end = start + 1, end - 1
    if any(character.isalnum() for character in text[start:end]):
        yield Span(start, end, field, role)


def bare_number(text: str, start: int, end: int, field: str) -> Iterable[Span]:
    """A volume or issue without its label (`Bd. 3` is 3)."""
    label = _LABELS.match(text, start, end)
    if label and label.end() < end:
        start = label.end()
    yield from trimmed(text, start, end, field)
