"""What lists print beside what style files do; the values stay in place."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from reno_dspy.jats.citation import read
from reno_dspy.jats.spans import Span, render
from reno_dspy.synthesize.printed import Reference, Setting, as_printed, run_together

TEXT = "[1] Veldt, A.\u00a0M. (2010). Paper tides. J. Fict. arXiv:2103.01234"
LIST = Setting("en", "ru", note=False, small_caps=True)


def reference(text: str = TEXT, label: bool = True) -> Reference:
    found = (
        ("label", "[1]"), ("surname", "Veldt"), ("given-names", "A.\u00a0M."), ("year", "2010"),
        ("article-title", "Paper tides"), ("source", "J. Fict"),
    )  # fmt: skip
    spans = []
    for field, value in found:
        if field != "label" or label:
            at = text.index(value)
            role = "author" if field in ("surname", "given-names") else None
            spans.append(Span(at, at + len(value), field, role))
    return Reference(text, tuple(spans))


def values(one: Reference, field: str) -> list[str]:
    return [one.text[s.start : s.end] for s in one.spans if s.field == field]


@pytest.mark.parametrize("seed", range(150))
def test_values_stay_in_place(seed: int) -> None:
    made = as_printed(reference(), LIST, random.Random(seed))
    assert values(made, "article-title") == ["Paper tides"]
    assert values(made, "year") == ["2010"]
    assert values(made, "surname") in (["Veldt"], ["VELDT"], [])
    assert read(render(made.text, made.spans)).text == " ".join(made.text.split())


SEEN: list[tuple[str, Callable[[Reference], bool]]] = [
    ("another number", lambda one: values(one, "label") not in ([], ["[1]"])),
    ("no label", lambda one: not values(one, "label") and one.text.startswith("V")),
    ("capitals", lambda one: values(one, "surname") == ["VELDT"]),
    ("plain spaces", lambda one: "\u00a0" not in one.text),
    ("a letter after the year", lambda one: "2010a" in one.text),
    ("a subject", lambda one: "01234 [" in one.text),
    ("a remark", lambda one: "ussian" in one.text),
    ("links", lambda one: "CrossRef" in one.text),
]


@pytest.mark.parametrize(("what", "seen"), SEEN, ids=[what for what, _ in SEEN])
def test_lists_differ(what: str, seen: Callable[[Reference], bool]) -> None:
    one = reference(TEXT[4:], label=False) if "letter" in what else reference()
    made = [as_printed(one, LIST, random.Random(seed)) for seed in range(400)]
    assert 0 < sum(map(seen, made)) < 400


def test_a_footnote_may_begin_with_words_and_a_list_with_a_number() -> None:
    plain = reference(TEXT[4:], label=False)
    note = Setting("de", "de", note=True, small_caps=False)
    made = [as_printed(plain, note, random.Random(seed)) for seed in range(300)]
    assert any(one.text.startswith(("Vgl.", "Siehe")) for one in made)
    assert any(
        values(one, "label") and one.text.startswith(values(one, "label")[0]) for one in made
    )


def test_a_dash_stands_for_the_author_before() -> None:
    plain = reference(TEXT[4:], label=False)
    made = [as_printed(plain, LIST, random.Random(seed)) for seed in range(400)]
    dashed = [one for one in made if one.text[0] in "—_-"]
    assert dashed
    assert all(not values(one, "surname") and values(one, "year") == ["2010"] for one in dashed)


def test_two_references_may_run_together() -> None:
    one = reference(TEXT[4:], label=False)
    made = run_together(one, one, random.Random(0))
    assert values(made, "surname") == ["Veldt", "Veldt"]
    assert values(made, "article-title") == ["Paper tides", "Paper tides"]
