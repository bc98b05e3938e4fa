"""Calibration: fitted on held-out references, kept beside the model, refused for another one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.base.errors import InputError
from reno_dspy.cli.calibrate import command as calibrate
from reno_dspy.measure.calibrate import Outcome, fit, logistic
from reno_dspy.measure.reliability import Reliability, reliability_of, wilson
from reno_dspy.systems import Confidence, ValueConfidence
from reno_dspy.systems.calibration import Calibration, calibration_file, load_calibration
from reno_dspy.systems.crf.model import SHIPPED, Crf

REFERENCE = "Ito K. Foxes of the north. J Fict Zool. 2010;12(3):200-9."
CASES = 4000


def overconfident() -> list[Outcome]:
    """A system whose odds are twice those that would be right, for values and for the whole."""
    random = np.random.default_rng(0)
    outcomes = []
    for i, said in enumerate(random.uniform(0.05, 0.95, CASES)):
        true = said / (2 - said)
        value = ValueConfidence("year", "2010", float(said))
        right, value_right = random.random(2) < true
        confidence = Confidence(float(said), (value,))
        outcomes.append(Outcome(confidence, bool(right), ((said, bool(value_right)),), f"a{i}"))
    return outcomes


def test_a_system_that_is_too_sure_is_corrected() -> None:
    made = fit(overconfident(), "digest", "data", "0")
    assert made.ece[0] > 0.1
    assert made.ece[1] < 0.03
    found = made.calibrated(Confidence(0.8, (ValueConfidence("year", "2010", 0.5),)))
    assert found.whole == pytest.approx(0.8 / 1.2, abs=0.03)
    assert found.values[0].probability == pytest.approx(0.5 / 1.5, abs=0.03)
    unknown = ValueConfidence("pub-id", "10.5555/1", None)
    assert made.calibrated(Confidence(0.8, (unknown,))).values == (unknown,)


def test_a_threshold_is_chosen_by_what_was_right_out_of_sample() -> None:
    made = fit(overconfident(), "digest", "data", "0")
    rung = made.threshold(0.75)
    assert rung is not None
    assert rung.right >= 0.75 * rung.accepted
    assert rung.expected >= 0.75
    lower = [one for one in made.rungs if one.threshold < rung.threshold]
    assert all(min(one.right / one.accepted, one.expected) < 0.75 for one in lower)
    assert made.threshold(0.9999) is None
    assert Calibration.model_validate_json(made.model_dump_json()) == made


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60),
)
def test_reliability_of_any_confidences(pairs: list[tuple[float, bool]]) -> None:
    found = reliability_of([c for c, _ in pairs], [r for _, r in pairs])
    assert found is not None
    assert sum(one.n for one in found.groups) == found.n == len(pairs)
    assert 0 <= found.ece <= 1
    assert 0 <= found.aurc <= 1
    if one := found.accepted:
        chosen = [right for confidence, right in pairs if confidence >= one.threshold]
        assert (one.n, one.right) == (len(chosen), sum(chosen))
        assert one.right >= one.wanted * one.n
    assert Reliability.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_reliability_counted_by_hand() -> None:
    confidence = [0.9] * 50 + [0.4] * 50
    right = [True] * 45 + [False] * 5 + [True] * 20 + [False] * 30
    found = reliability_of(confidence, right)
    assert found is not None
    assert found.ece == pytest.approx(0)
    # One in ten of the first half is wrong; then the risk grows up to that of all.
    second = [(5 + 0.6 * i) / (50 + i) for i in range(1, 51)]
    assert found.aurc == pytest.approx((50 * 0.1 + sum(second)) / 100)
    assert found.accepted is not None
    assert (found.accepted.n, found.accepted.right) == (50, 45)
    sure = reliability_of([1.0] * 100, right)
    assert sure is not None
    assert sure.ece == pytest.approx(0.35)
    assert sure.chance == 0
    assert sure.accepted is None
    assert "Accept the 50.0% above 0.900 unseen, and 90.0% of them" in found.sentence()
    assert wilson(98, 100) == pytest.approx((0.930, 0.9945), abs=1e-3)
    assert reliability_of([None, None], [True, False]) is None


def test_a_model_of_ones_own_is_calibrated_and_says_so(tmp_path: Path, toy_rows: Path) -> None:
    model = tmp_path / "mine.crfsuite"
    shutil.copy(SHIPPED, model)
    raw = Crf(model)
    assert raw.calibration is None
    assert "calibration_digest" not in raw.identity()
    done = CliRunner().invoke(calibrate, ["--system", str(model), "--data", str(toy_rows)])
    assert done.exit_code == 0, done.output
    ours = Crf(model)
    assert ours.calibration is not None
    assert ours.calibration.references == 120
    assert ours.identity()["calibration_digest"]
    (one,), (other,) = raw.annotate_all([REFERENCE]), ours.annotate_all([REFERENCE])
    assert one.xml == other.xml
    assert one.confidence is not None
    assert other.confidence == ours.calibration.calibrated(one.confidence)


def test_a_calibration_of_another_model_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "mine.crfsuite"
    shutil.copy(SHIPPED, model)
    shipped = calibration_file(SHIPPED).read_text(encoding="utf-8")
    file = calibration_file(model)
    file.write_text(shipped, encoding="utf-8")
    assert Crf(model).calibration == Crf().calibration
    with pytest.raises(InputError, match="was made for the model"):
        load_calibration(file, "0" * 16)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="no calibration"):
        Crf(model)


def test_what_has_no_probabilities_or_too_few_rows_is_refused(
    tmp_path: Path, toy_rows: Path
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(toy_rows.read_text().splitlines(keepends=True)[:5]), encoding="utf-8")
    out = str(tmp_path / "out.json")
    done = CliRunner().invoke(calibrate, ["--system", "crf", "--data", str(few), "--out", out])
    assert isinstance(done.exception, InputError)
    assert "a calibration needs 100" in str(done.exception)
    done = CliRunner().invoke(
        calibrate, ["--system", "grobid", "--data", str(toy_rows), "--out", out]
    )
    assert isinstance(done.exception, InputError)
    assert "no probabilities" in str(done.exception)


@pytest.fixture
def toy_rows(tmp_path: Path) -> Path:
    """References of 120 articles with their gold."""
    file = tmp_path / "rows.jsonl"
    with open(file, "w", encoding="utf-8") as out:
        for i in range(120):
            year = 1900 + i
            row = {
                "plaintext": f"Ito K. Foxes of the north. J Fict Zool. {year};{i + 1}(3):200-9.",
                "xml": (
                    "<mixed-citation><person-group><name><surname>Ito</surname><given-names>K"
                    "</given-names></name></person-group><article-title>Foxes of the north"
                    f"</article-title><source>J Fict Zool</source><year>{year}</year>"
                    f"<volume>{i + 1}</volume><issue>3</issue></mixed-citation>"
                ),
                "source": "toy",
                "citing_article": f"article {i}",
            }
            out.write(json.dumps(row) + "\n")
    return file


def test_a_model_that_is_nearly_always_right_and_very_sure_has_finite_coefficients() -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(2, 20, 6_000)
    right = rng.random(6_000) < 1 / (1 + np.exp(1.5 - 0.8 * sure))
    offset, slope = logistic(np.stack([np.ones_like(sure), sure], axis=1), right.astype(float))
    assert offset == pytest.approx(-1.5, abs=0.7)
    assert slope == pytest.approx(0.8, abs=0.2)
