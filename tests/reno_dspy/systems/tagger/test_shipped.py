"""The tagger that ships: whole, small, openly licensed, and good at plain references."""

from __future__ import annotations

import asyncio
import json

import pytest

from reno_dspy.jats.citation import parse, read_values, text_of
from reno_dspy.systems.tagger.manifest import MODEL, load_tagger
from reno_dspy.systems.tagger.model import SHIPPED, Tagger

REFERENCES = {
    "García P, Ito K. Foxes of Nordhaven. J Fict Zool. 2010;12(3):200-9.": {
        "surname": ("García", "Ito"), "given-names": ("P", "K"), "source": ("J Fict Zool",),
        "article-title": ("Foxes of Nordhaven",), "volume": ("12",), "issue": ("3",), "year": ("2010",),
    },
    "Veldt, Anna (1999): Papiergezeiten. Eine Einführung. Berlin: Moorverlag.": {
        "surname": ("Veldt",), "given-names": ("Anna",), "year": ("1999",),
        "publisher-loc": ("Berlin",), "publisher-name": ("Moorverlag",),
    },
    "Ilona Grabner, Viktor Maslow and Tomás Ruiz. Counting fog. Journal of Weather Tales 4 (2018) 11-19.": {
        "surname": ("Grabner", "Maslow", "Ruiz"), "given-names": ("Ilona", "Viktor", "Tomás"),
        "year": ("2018",), "volume": ("4",),
    },
}  # fmt: skip

SURNAMES = ("Veldt", "Marsh", "García", "Ito", "Grabner", "Quell", "Solano", "Ostrava")


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    system = Tagger()
    asyncio.run(system.start())
    return system


def test_it_is_small_and_its_rows_are_openly_licensed() -> None:
    model = load_tagger(SHIPPED)
    assert (SHIPPED / MODEL).stat().st_size < 60_000_000
    licences = {name for data in model.manifest.data[:1] for name in data["licences"]}
    assert licences
    assert not {name for name in licences if "nc" in name.casefold().replace("-", " ").split()}


def test_it_reads_plain_references(tagger: Tagger) -> None:
    for completion, right in zip(
        asyncio.run(tagger.annotate(list(REFERENCES))), REFERENCES.values(), strict=True
    ):
        found = read_values(parse(completion.text), tuple(right))
        assert {name: found[name] for name in right} == right


def test_a_reference_is_annotated_alike_alone_and_among_others(tagger: Tagger) -> None:
    texts = [text for text in REFERENCES for _ in range(20)]
    together = [one.text for one in asyncio.run(tagger.annotate(texts))]
    alone = [asyncio.run(tagger.annotate([text]))[0].text for text in REFERENCES]
    assert together == [text for text in alone for _ in range(20)]


def test_a_reference_longer_than_it_reads_at_once_is_read_whole(tagger: Tagger) -> None:
    people = ", ".join(f"{name} {letter}" for letter in "ABCDEFGHIJKLMNOPQRST" for name in SURNAMES)
    text = f"{people}. Foxes of Nordhaven. J Fict Zool. 2010;12(3):200-9."
    (found,) = asyncio.run(tagger.annotate([text]))
    root = parse(found.text)
    assert text_of(root) == text
    values = read_values(root, ("surname", "article-title", "year"))
    assert values["article-title"] == ("Foxes of Nordhaven",)
    assert values["year"] == ("2010",)
    assert len(values["surname"]) > 0.9 * 20 * len(SURNAMES)


def test_its_manifest_is_plain_json() -> None:
    manifest = json.loads((SHIPPED / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["base"] == "multilingual-e5-small"
    assert "/" not in str(manifest["recipe"]["data"])
