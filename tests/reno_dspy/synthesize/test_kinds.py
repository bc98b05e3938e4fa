"""Works of kinds and languages that the metadata lack, and what else a reference may print of a work."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from reno_dspy.synthesize.kinds import Kinds, Work
from reno_dspy.synthesize.lexicon import load_lexicon
from reno_dspy.synthesize.metadata import FORMS, Item, read_items
from reno_dspy.synthesize.people import Names, is_initials, is_latin
from reno_dspy.synthesize.pool import WEIGHTS, Pool
from reno_dspy.synthesize.vary import Variation

pytest.importorskip("faker", reason="needs pip install 'reno-dspy[synth]'")
ITEMS, _ = read_items([str(Path(__file__).parent / "items.json")], [])
LEXICON = load_lexicon()
NAMES = Names(ITEMS, LEXICON)
POOL = Pool(ITEMS)
KINDS = Kinds(POOL, NAMES, LEXICON)
NEEDED = {
    "journal": ("container-title", "volume", "page"), "book": ("publisher", "publisher-place"),
    "chapter": ("container-title", "editor", "publisher"), "thesis": ("publisher", "genre"),
    "newspaper": ("container-title", "issued"), "patent": ("number", "issued"),
}  # fmt: skip


def made(form: str, language: str, seed: int = 0) -> Work:
    return KINDS.draw(form, language, random.Random(seed))


@pytest.mark.parametrize("form", ["journal", "book", "chapter", "thesis"])
@pytest.mark.parametrize("language", ["ru", "zh"])
def test_a_work_is_made_in_the_script_of_its_title(form: str, language: str) -> None:
    works = [made(form, language, seed) for seed in range(30)]
    assert {work.form for work in works} >= {form}
    for work in works:
        if work.form == form:
            assert work.csl.keys() >= {"title", "author", "issued", *NEEDED[form]}
            assert not is_latin(work.csl["author"][0]["family"])
            assert work.csl["title"] == work.item.csl["title"]


@pytest.mark.parametrize("form", ["newspaper", "patent", "preprint", "data", "software"])
def test_kinds_that_metadata_lack_are_made(form: str) -> None:
    works = [made(form, "en", seed) for seed in range(60)]
    right = [work for work in works if work.form == form]
    assert len(right) > 20
    for work in right:
        assert work.csl.keys() >= {"title", *NEEDED.get(form, ())}
    if form == "preprint":
        printed = Counter(
            str(w.csl.get("publisher") or w.csl.get("container-title")) for w in right
        )
        assert any("arXiv" in name for name in printed)
        assert any("arXiv" not in name for name in printed)


def test_every_kind_has_a_weight() -> None:
    assert set(WEIGHTS) == set(FORMS)
    drawn = Counter(POOL.form(random.Random(seed)) for seed in range(3000))
    assert drawn.most_common(1)[0][0] == "journal"
    assert set(drawn) == set(FORMS)


def test_the_same_seed_gives_the_same_work() -> None:
    def one(seed: int) -> Work:
        rng = random.Random(seed)
        work = KINDS.draw(POOL.form(rng), POOL.language("en", rng), rng)
        Variation(POOL, NAMES, LEXICON).apply(work, rng)
        return work

    assert [one(seed) for seed in range(50)] == [one(seed) for seed in range(50)]
    # What is changed is a copy.
    assert all(item.csl == again.csl for item, again in zip(ITEMS, read_again(), strict=True))


def read_again() -> list[Item]:
    return read_items([str(Path(__file__).parent / "items.json")], [])[0]


def test_references_print_more_than_the_metadata_say() -> None:
    variation = Variation(POOL, NAMES, LEXICON)
    seen: Counter[str] = Counter()
    for seed in range(2500):
        rng = random.Random(seed)
        work = KINDS.draw(POOL.form(rng), "en", rng)
        variation.apply(work, rng)
        csl = work.csl
        seen.update(list(csl))
        seen["month"] += len(csl.get("issued", {}).get("date-parts", [[]])[0]) > 1
        seen["season"] += "season" in csl.get("issued", {})
        seen["suffix"] += any("suffix" in person for person in csl.get("author", ()))
        seen["article number"] += re.match("e|0|Article", csl.get("page", "")) is not None
        seen["issue alone"] += "issue" in csl and "volume" not in csl
        assert csl["title"]
    for what in ("month", "season", "suffix", "article number", "issue alone", "edition", "translator",
                 "accessed", "original-date", "number-of-pages", "PMID", "ISBN", "status"):  # fmt: skip
        assert seen[what], what


def test_whole_names_stand_for_initials_in_the_same_script() -> None:
    rng = random.Random(0)
    for family, first in (("Петров", "И."), ("Veldt", "A.")):
        whole = NAMES.given({"family": family, "given": first}, "ru", rng)
        assert not is_initials(whole)
        assert is_latin(whole) == is_latin(family)


@pytest.mark.parametrize(
    ("given", "initials"),
    [
        ("A. M.", True), ("AM", True), ("A", True), ("J.-P.", True), ("Th.", True), ("И. И.", True),
        ("", True),
        ("Anna", False), ("Юлий", False), ("Jo", False), ("小明", False), ("Anna M.", False),
    ],
)  # fmt: skip
def test_what_initials_are(given: str, initials: bool) -> None:
    assert is_initials(given) is initials
