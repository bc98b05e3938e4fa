"""References to review are written apart, the least sure first; confidence inside of JATS and CSL-JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lxml import etree
from pydantic import ValidationError

from reno_dspy.annotate.job import AnnotateConfig, annotate
from reno_dspy.annotate.review import review_file
from reno_dspy.base.errors import InputError
from reno_dspy.cli.annotate import command
from reno_dspy.systems import Completion, Confidence, ValueConfidence
from reno_dspy.systems.crf.model import Crf

REFERENCES = [
    "1. Ito K. Foxes & geese. J Fict Zool. 2010;12(3):200-9. doi:10.5555/2010.12",
    "2. Oe",
    "3. Ueda H. In: Abe, Geese (Tokyo) n.d. 17",
    "4. Oe H, Ito K. Geese of the north. J Fict Zool. 2011;13(1):20-9.",
]


class Sure:
    """Is as sure as the reference says, `a 0.7`; of `bare` it does not say, `fail` has no answer."""

    name = "sure"
    batch_size = 2
    concurrency = 1

    def __init__(self, known: bool = True) -> None:
        self.known = known

    def identity(self) -> Mapping[str, str]:
        return {}

    async def start(self) -> None:
        pass

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        return [self._one(reference) for reference in references]

    def _one(self, text: str) -> Completion:
        if text == "fail":
            return Completion("", error="HTTP 500")
        found = Confidence(float(text.split()[1])) if self.known and text != "bare" else None
        return Completion(f"<mixed-citation>{text}</mixed-citation>", confidence=found)


def config(out: Path, **options: Any) -> AnnotateConfig:
    given = {"input": "-", "out": out, "system": "crf", "max_errors": 1, **options}
    return AnnotateConfig.model_validate(given)


def test_the_less_sure_are_written_apart_the_least_sure_first(tmp_path: Path) -> None:
    out = tmp_path / "refs.jsonl"
    references = ["a 0.7", "b 0.95", "fail", "c 0.2", "bare", "d 0.9", "e 0.5"]
    done = annotate(config(out, format="jsonl", review_below=0.9), Sure(), references)
    assert (done.total, done.failed, done.review) == (7, 1, 5)
    assert shown(out) == ["b 0.95", "d 0.9"]
    assert shown(tmp_path / "refs.review.jsonl") == ["fail", "bare", "c 0.2", "e 0.5", "a 0.7"]


def shown(file: Path) -> list[str]:
    return [json.loads(line)["reference"] for line in file.read_text().splitlines()]


def test_ids_are_the_references_own_in_both_files(tmp_path: Path, jats: etree.DTD) -> None:
    out = tmp_path / "refs.xml"
    done = annotate(config(out, review_below=0.5), Crf(), REFERENCES)
    found = [etree.parse(file).getroot() for file in (out, review_file(out))]
    ids = [one.get("id") for root in found for one in root]
    assert sorted(ids) == ["ref1", "ref2", "ref3", "ref4"]
    assert len(found[1]) == done.review > 0
    assert all(jats.validate(root) for root in found), jats.error_log
    assert not [one for root in found for one in root.iter(etree.ProcessingInstruction)]


def test_jats_has_the_confidence_behind_each_element(tmp_path: Path, jats: etree.DTD) -> None:
    out, lines = tmp_path / "refs.xml", tmp_path / "refs.jsonl"
    annotate(config(out, confidence=True), Crf(), REFERENCES)
    annotate(config(lines, format="jsonl"), Crf(), REFERENCES)
    root = etree.parse(out).getroot()
    assert jats.validate(root), jats.error_log
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    for ref, row, text in zip(root, rows, REFERENCES, strict=True):
        marks = [float(one.text) for one in ref.iter(etree.ProcessingInstruction)]
        known = [one["confidence"] for one in row["values"] if one["confidence"] is not None]
        assert marks == [*known, row["confidence"]]
        assert "".join(ref.itertext(etree.Element)) == text
        for mark in ref.iter(etree.ProcessingInstruction):
            before = mark.getprevious()
            value = {"field": before.tag, "value": before.text, "confidence": float(mark.text)}
            assert value in row["values"] or before.tag == "mixed-citation"


def test_beside_an_element_citation_the_confidence_is_that_of_the_mixed_one(
    tmp_path: Path, jats: etree.DTD
) -> None:
    both, mixed = tmp_path / "both.xml", tmp_path / "mixed.xml"
    annotate(config(both, format="jats-elements", confidence=True), Crf(), REFERENCES)
    annotate(config(mixed, confidence=True), Crf(), REFERENCES)
    root = etree.parse(both).getroot()
    assert jats.validate(root), jats.error_log
    one, other = (
        [mark.text for mark in etree.parse(file).getroot().iter(etree.ProcessingInstruction)]
        for file in (both, mixed)
    )
    assert one == other != []


def test_csl_has_the_confidence_as_custom(tmp_path: Path) -> None:
    out = tmp_path / "refs.json"
    annotate(config(out, format="csl", confidence=True), Crf(), REFERENCES)
    items = json.loads(out.read_text())
    assert all(0 <= item["custom"]["confidence"] <= 1 for item in items)
    assert {"field": "source", "value": "J Fict Zool"}.items() <= next(
        one for one in items[0]["custom"]["values"] if one["field"] == "source"
    ).items()
    annotate(config(out, format="csl"), Crf(), REFERENCES)
    assert not any("custom" in item for item in json.loads(out.read_text()))


def test_accept_takes_the_threshold_of_the_calibration(tmp_path: Path) -> None:
    source, out = tmp_path / "refs.txt", tmp_path / "refs.jsonl"
    source.write_text("\n".join(REFERENCES), encoding="utf-8")
    given = [str(source), "--system", "crf", "--format", "jsonl", "--out", str(out)]
    done = CliRunner().invoke(command, [*given, "--accept", "0.9"], catch_exceptions=False)
    calibration = Crf().calibration
    assert calibration is not None
    rung = calibration.threshold(0.9)
    assert rung is not None
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    apart = [json.loads(line) for line in review_file(out).read_text().splitlines()]
    assert all(row["confidence"] >= rung.threshold for row in rows)
    assert all(row["confidence"] < rung.threshold for row in apart)
    assert len(rows) + len(apart) == len(REFERENCES)
    assert f"{len(apart)} of less confidence than {rung.threshold:.4f} to review" in done.output


def test_what_cannot_be_told_apart_is_refused_and_the_answers_kept(tmp_path: Path) -> None:
    out = tmp_path / "refs.jsonl"
    with pytest.raises(InputError, match="has no calibration"):
        annotate(config(out, accept=0.9), Sure(), ["a 0.7"])
    with pytest.raises(
        InputError, match=r"No threshold of crf reaches 0\.99999: the best reaches 0\.99"
    ):
        annotate(config(out, accept=0.99999), Crf(), REFERENCES)
    with pytest.raises(InputError, match="does not say how sure"):
        annotate(config(out, format="jsonl", review_below=0.9), Sure(known=False), ["a 0.7"])
    again = annotate(config(out, format="jsonl"), Sure(known=False), ["a 0.7"])
    assert (again.total, shown(out)) == (1, ["a 0.7"])
    for where, options in (
        (out, {"accept": 0.9, "review_below": 0.9}),
        (Path("-"), {"accept": 0.9}),
    ):
        with pytest.raises(ValidationError, match=r"give one|name one"):
            config(where, **options)


def test_a_review_file_that_is_the_input_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "refs.review.txt"
    source.write_text("Ito K. Foxes. 2010.", encoding="utf-8")
    given = [str(source), "--system", "crf", "--out", str(tmp_path / "refs.txt")]
    done = CliRunner().invoke(command, [*given, "--review-below", "0.9"])
    assert isinstance(done.exception, InputError)
    assert source.read_text() == "Ito K. Foxes. 2010."


def test_values_keep_what_is_known_of_them() -> None:
    found = Confidence(0.81234567, (ValueConfidence("year", "2010", None),)).to_json()
    assert found == {
        "confidence": 0.8123,
        "values": [{"field": "year", "value": "2010", "confidence": None}],
    }
