"""Reads the invented vocabularies (vocab/*.yaml) and fills title templates grammatically."""

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent

CONTRACTIONS = {
    "pt": {"o ": "do ", "a ": "da ", "os ": "dos ", "as ": "das "},
    "es": {"el ": "del "},
    "fr": {"le ": "du ", "les ": "des "},
    "it": {"il ": "del ", "la ": "della ", "le ": "delle ", "lo ": "dello "},
}


@dataclass(frozen=True)
class Vocabulary:
    """One language's words; `pairs` entries are (name, abbreviation or place)."""

    lang: str
    surnames: list[str]
    given: list[str]
    suffixes: list[str]
    journals: dict[str, list[tuple[str, str]]]
    publishers: list[tuple[str, str]]
    universities: list[tuple[str, str]]
    conferences: list[tuple[str, str]]
    collabs: list[str]
    sites: list[str]
    templates: dict[str, list[str]]
    subs: list[str]
    themes: dict[str, dict[str, list[str]]]


def _pairs(lines: list[str]) -> list[tuple[str, str]]:
    return [(left, right) for left, right in (line.split(" | ") for line in lines)]


@cache
def load(lang: str) -> Vocabulary:
    """The vocabulary of an ISO 639-1 language code."""
    raw = yaml.safe_load((HERE / "vocab" / f"{lang}.yaml").read_text(encoding="utf-8"))
    raw["journals"] = {domain: _pairs(lines) for domain, lines in raw["journals"].items()}
    for key in ("publishers", "universities", "conferences"):
        raw[key] = _pairs(raw[key])
    return Vocabulary(lang=lang, **raw)


def upper_first(text: str) -> str:
    """Capitalize the first letter only."""
    return text[:1].upper() + text[1:]


def of(lang: str, phrase: str) -> str:
    """The noun phrase after "of", contracted: "le métier" is "du métier"."""
    for article, contracted in CONTRACTIONS.get(lang, {}).items():
        if phrase.startswith(article):
            return contracted + phrase[len(article) :]
    return ("del" if lang == "it" else "de ") + phrase


def title(words: Vocabulary, domain: str, kind: str, rng: random.Random) -> str:
    """A title of `kind` (paper, book, web, report) about `domain`."""
    theme = words.themes[domain]
    x, y = rng.sample(theme["np"], 2)
    sub = rng.choice(words.subs)
    return rng.choice(words.templates[kind]).format(
        x=x,
        X=upper_first(x),
        y=y,
        dx=of(words.lang, x),
        ctx=rng.choice(theme["ctx"]),
        sub=sub,
        Sub=upper_first(sub),
    )
