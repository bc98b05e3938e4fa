"""The items to render, and how one is drawn: first its form, then its language, then the work."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import accumulate

from reno_dspy.synthesize.metadata import FORMS, Item
from reno_dspy.synthesize.people import is_latin

# What reference lists hold, roughly: mostly articles, but every kind often enough to be learnt. Few styles
# print what tells a patent or a standard, and the others are dropped.
WEIGHTS: Mapping[str, float] = {
    "journal": 36, "book": 11, "chapter": 11, "confproc": 8, "thesis": 6, "report": 5, "webpage": 4.5,
    "newspaper": 3.5, "preprint": 4, "legal-doc": 2.2, "standard": 3, "data": 3.5, "software": 3,
    "patent": 6, "other": 0.5,
}  # fmt: skip
NOT_LATIN = frozenset(
    "ar be bg bn el fa he hi hy ja ka kk km kn ko ml mn my ne pa ru si sr ta te th uk ur zh".split()  # noqa: SIM905
)
# Share of the works that are in the language they are printed in; of the rest, in English.
_SAME_LANGUAGE, _ENGLISH = 0.68, 0.45
_HANDFUL = 30
# Titles that no article or book has.
_NO_DONORS = frozenset({"legal-doc", "standard", "data", "patent", "other"})


class Pool:
    """Items by form and language."""

    def __init__(self, items: Sequence[Item]) -> None:
        """Hold `items`."""
        self._all = items
        self._native: dict[str | None, list[Item]] = {}
        self._by: dict[tuple[str, str | None], list[Item]] = {}
        self._of_language: dict[str | None, list[Item]] = {}
        for item in items:
            self._by.setdefault((item.form, item.language), []).append(item)
            self._of_language.setdefault(item.language, []).append(item)
        languages = sorted(language for language in self._of_language if language)
        roots = [math.sqrt(len(self._of_language[language])) for language in languages]
        self._languages = languages
        self._roots = list(accumulate(roots))

    def __len__(self) -> int:
        return len(self._all)

    @property
    def languages(self) -> Sequence[str]:
        """The languages of the items, in order."""
        return self._languages

    def form(self, rng: random.Random) -> str:
        """The kind of work that is rendered next."""
        forms = [form for form in FORMS if form in WEIGHTS]
        return rng.choices(forms, [WEIGHTS[form] for form in forms])[0]

    def any_language(self, rng: random.Random) -> str | None:
        """A language, drawn by the root of its number of items; None where none is known."""
        if not self._languages:
            return None
        return rng.choices(self._languages, cum_weights=self._roots)[0]

    def language(self, printed_in: str, rng: random.Random) -> str | None:
        """The language of a work in a list that is printed in `printed_in`."""
        own = len(self._of_language.get(printed_in, ()))
        # A handful of works must not fill whole lists.
        if own and rng.random() < _SAME_LANGUAGE * own / (own + _HANDFUL):
            return printed_in
        if "en" in self._of_language and rng.random() < _ENGLISH:
            return "en"
        return self.any_language(rng)

    def items(self, form: str, language: str | None) -> Sequence[Item]:
        """The items of a form in a language."""
        return self._by.get((form, language), ())

    def donors(self, language: str | None) -> Sequence[Item]:
        """Items in a language whose titles may be another work's.

        In a language that is not written in Latin letters, those that are not, where there are any.
        """
        if language not in self._native:
            found = self._of_language.get(language, [])
            own = [item for item in found if not is_latin(item.csl["title"])]
            found = own if language in NOT_LATIN and own else found
            told = [item for item in found if item.form not in _NO_DONORS]
            self._native[language] = told or found
        return self._native[language]

    def any_item(self, rng: random.Random) -> Item:
        """Any item, every one as likely."""
        return rng.choice(self._all)
