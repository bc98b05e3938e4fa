"""Names of people by language: from the metadata, and from Faker where those hold few.

Drawn for works whose metadata lack them (editors, translators, inventors) and in place of initials.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from reno_dspy.synthesize.lexicon import Lexicon
from reno_dspy.synthesize.metadata import Item

Name = dict[str, Any]

# Fewer family names than this say little of a language.
_FEW = 300
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.[\s-]*|[^\W\d_](?=[\s-]|$)[\s-]*){1,5}|[A-Z]{1,3}")
# Han, kana, Hangul and what else begins beyond Hebrew: scripts that know no initials, or seldom.
_NO_INITIALS = re.compile("[\u0900-\uffff]")
# One or two whole names.
_WHOLE = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[ -][^\W\d_a-z][^\W\d_]+)?")
_SUFFIXES = {
    "en": ("Jr.", "Jr.", "Jr", "Sr.", "III", "II"),
    "pt": ("Filho", "Neto", "Júnior", "Jr.", "Sobrinho"),
    "es": ("Jr.", "hijo"),
}


@dataclass(frozen=True)
class _Stock:
    family: Sequence[str]
    given: Sequence[str]


class Names:
    """Names to draw from."""

    def __init__(self, items: Iterable[Item], lexicon: Lexicon) -> None:
        """Collect the people of `items` by the language of the work."""
        self._lexicon = lexicon
        self._bodies: dict[str, None] = {}
        family: dict[str, dict[str, None]] = {}
        given: dict[str, dict[str, None]] = {}
        for item in items:
            for person in item.csl.get("author", ()):
                if "literal" in person and item.language == "en":
                    self._bodies[person["literal"]] = None
                if item.language and "family" in person and _in_script(person["family"], item):
                    family.setdefault(item.language, {})[person["family"]] = None
                    if _WHOLE.fullmatch(first := person.get("given", "")):
                        given.setdefault(item.language, {})[first] = None
        self._known = {
            language: _Stock(list(family[language]), list(given[language]))
            for language in family.keys() & given.keys()
        }

    def draw(self, language: str | None, rng: random.Random) -> Name:
        """A person who writes in `language`."""
        stock = self._stock(language)
        person = {"family": rng.choice(stock.family), "given": rng.choice(stock.given)}
        if language == "th":
            # Printed as one, the given name first.
            return {"family": f"{person['given']} {person['family']}"}
        return person

    def body(self, rng: random.Random) -> Name | None:
        """A body that some work is by, by its English name; None where there is none."""
        return {"literal": rng.choice(list(self._bodies))} if self._bodies else None

    def several(self, language: str | None, rng: random.Random, most: int) -> list[Name]:
        """One to `most` people."""
        return [self.draw(language, rng) for _ in range(rng.randint(1, most))]

    def given(self, person: Mapping[str, Any], language: str | None, rng: random.Random) -> str:
        """A whole given name in place of a person's initials, in the script of the family name.

        Its first letter is theirs where one is known.
        """
        latin = is_latin(person["family"])
        stock = [name for name in self._stock(language).given if is_latin(name) == latin]
        if not stock:
            stock = list(self._stock("en").given) if latin else [person["given"]]
        alike = [name for name in stock if name[:1] == person["given"][:1]]
        return rng.choice(alike or stock)

    def _stock(self, language: str | None) -> _Stock:
        known = self._known.get(language or "en")
        locale = self._lexicon.of(language).people
        if locale and (known is None or len(known.family) < _FEW):
            return _faker(locale)
        return known or self._known.get("en") or _faker("en_US")


def is_initials(given: str) -> bool:
    """Whether a given name is initials only, or nothing."""
    if not given or _NO_INITIALS.match(given):
        return not given
    return _INITIALS.fullmatch(given) is not None


def with_suffix(person: Mapping[str, Any], language: str | None, rng: random.Random) -> Name:
    """`person`, with a suffix of the language where it has any."""
    choices = _SUFFIXES.get(language or "en")
    if choices is None or "literal" in person or "given" not in person:
        return dict(person)
    return {**person, "suffix": rng.choice(choices), "comma-suffix": rng.random() < 0.7}


def _in_script(name: str, item: Item) -> bool:
    """Whether a name is in Latin script or not as its work's title: transliterated ones are not."""
    return is_latin(name) == is_latin(item.csl["title"])


def is_latin(text: str) -> bool:
    """Whether the first letter of `text` is of the Latin script."""
    first = next((character for character in text if character.isalpha()), "a")
    return first < "\u0250" or "\u1e00" <= first < "\u1f00"


@cache
def _faker(locale: str) -> _Stock:
    from faker import Faker

    (people,) = Faker(locale, providers=["faker.providers.person"]).get_providers()
    return _Stock(list(dict.fromkeys(people.last_names)), list(dict.fromkeys(people.first_names)))
