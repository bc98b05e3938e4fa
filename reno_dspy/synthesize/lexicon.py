"""Where works of a language appear (`lexicon.yaml`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Words:
    """Names that belong to one language; what is not known is empty.

    `publishers` and `universities` are NAME|PLACE; `people` is a locale of Faker.
    """

    journals: tuple[str, ...] = ()
    newspapers: tuple[str, ...] = ()
    publishers: tuple[str, ...] = ()
    universities: tuple[str, ...] = ()
    theses: tuple[str, ...] = ()
    people: str | None = None


@dataclass(frozen=True)
class Lexicon:
    """The words of every language."""

    words: Mapping[str, Words] = field(default_factory=dict)

    def of(self, language: str | None) -> Words:
        """The words of `language`; nothing for one that is not known."""
        return self.words.get(language or "", Words())


def placed(value: str) -> tuple[str, str]:
    """(name, place) of a NAME|PLACE."""
    name, _, place = value.partition("|")
    return name, place


def choice(values: tuple[str, ...], rng: random.Random) -> str | None:
    """One of `values`, None of none."""
    return rng.choice(values) if values else None


@cache
def load_lexicon() -> Lexicon:
    """The lexicon that ships."""
    text = Path(__file__).with_name("lexicon.yaml").read_text(encoding="utf-8")
    return Lexicon({language: _words(entry) for language, entry in yaml.safe_load(text).items()})


def _words(entry: Mapping[str, Any]) -> Words:
    lists = {name: tuple(value) for name, value in entry.items() if name != "people"}
    return Words(people=entry.get("people"), **lists)
