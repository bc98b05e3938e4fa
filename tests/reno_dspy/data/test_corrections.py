"""A corrections folder as a data set: the last line holds, and no row ever changes sides."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.data.corrections import FILE
from reno_dspy.data.dataset import Row, load, splits_of
from reno_dspy.data.training import train_and_dev
from reno_dspy.jats.citation import parse, read_values, text_of
from reno_dspy.jats.text import folded


def line(number: int, **more: Any) -> dict[str, Any]:
    text = f"Ito K. Foxes {number}. 2010."
    spans = [
        {"start": 0, "end": 3, "field": "surname", "role": "author"},
        {"start": 4, "end": 6, "field": "given-names", "role": "author"},
        {"start": 7, "end": text.index(". 2"), "field": "article-title"},
        {"start": len(text) - 5, "end": len(text) - 1, "field": "year"},
    ]
    return {"text": text, "spans": spans, "accepted": True, "publication_type": "journal"} | more


def write(folder: Path, lines: list[dict[str, Any]], torn: str = "") -> str:
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (folder / FILE).write_text(text + torn, encoding="utf-8")
    return str(folder)


def sides(data: str) -> dict[str, set[str]]:
    return {
        split: {folded(r.plaintext or "") for r in load(data, split).rows}
        for split in splits_of(data)
    }


def test_rows_are_the_last_accepted_state_of_each_reference(tmp_path: Path) -> None:
    renamed = line(1, licence="CC0", system="crf", publication_type="book")
    renamed["spans"][2]["field"] = "source"
    lines = [line(1), line(2), line(2, accepted=False), renamed, line(3, article="doi:10.5555/a.1")]
    data = write(tmp_path, lines, torn='{"text": "Ito')
    rows = {r.plaintext: r for split in splits_of(data) for r in load(data, split).rows}
    assert len(rows) == 2
    first, third = rows[line(1)["text"]], rows[line(3)["text"]]
    assert text_of(parse(first.xml)) == first.plaintext
    assert read_values(parse(first.xml))["source"] == ("Foxes 1",)
    assert (first.source, first.licence, first.provenance) == (
        "corrections",
        "CC0",
        "crf, corrected",
    )
    assert (first.publication_type, first.cluster) == ("book", None)
    assert third.citing_article_doi == third.cluster == "10.5555/a.1"


def test_no_row_ever_changes_sides(tmp_path: Path) -> None:
    """Whatever is added, corrected, or moved to another article later."""
    rng = random.Random(0)
    lines: list[dict[str, Any]] = []
    before: dict[str, set[str]] = {}
    for number in range(300):
        again = rng.random() < 0.3 and number
        article = rng.choice([None, *(f"article {n}" for n in range(20))])
        lines.append(line(rng.randrange(number) if again else number, article=article))
        if number % 50 == 49:
            now = sides(write(tmp_path / "corrections", lines))
            assert all(texts <= now[split] for split, texts in before.items())
            before = now
    assert {"train", "dev", "test"} == set(before)
    assert sum(map(len, before.values())) == len(set.union(*before.values()))
    train, dev = train_and_dev(str(tmp_path / "corrections"), 0)
    clusters = [{r.cluster for r in part.rows} - {None} for part in (train, dev)]
    assert not clusters[0] & clusters[1]
    assert isinstance(train.rows[0], Row)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"spans": [{"start": 0, "end": 5, "field": "year"}, {"start": 4, "end": 6, "field": "issue"}]},
         r"year \(0-5\) and issue \(4-6\) overlap"),
        ({"spans": [{"start": 3, "end": 999, "field": "year"}]}, "ends after the reference"),
        ({"spans": [{"start": 3, "end": 3, "field": "year"}]}, "is empty"),
        ({"spans": [{"start": 0, "end": 3, "field": "etc"}]}, "'etc' is not a field"),
        ({"spans": [{"start": 0, "end": 3, "field": "pub-id", "role": 'x" y="'}]}, "role"),
        ({"publication_type": "tome"}, "'tome' is not a publication type"),
        ({"text": " "}, "it has no text"),
        ({"text": "a\x00b", "spans": []}, "cannot stand in XML"),
        ({"txt": "a"}, "txt"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_correction_is_named(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    data = write(tmp_path, [line(1), line(2) | change])
    with pytest.raises(
        InputError, match=rf"corrections\.jsonl:2 is not a correction\. .*{problem}"
    ):
        load(data)


def test_a_folder_without_accepted_corrections_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="accept references"):
        splits_of(write(tmp_path, [line(1, accepted=False)]))
