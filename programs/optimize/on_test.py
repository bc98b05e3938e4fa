"""The one look at `test`: seed and best prompt of a finished GEPA job, measured side by side.

reno optimize RECIPE --data DATA --out DIR --final
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from programs.annotate import LMSystem
from programs.config import LMSpec, Objective, OptimizeConfig
from programs.optimize.candidates import Candidate, OptimizeResult, points
from programs.optimize.feedback import citation_score
from reno_dspy.base.files import write_text
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.tracker import Tracker
from reno_dspy.data.dataset import load
from reno_dspy.measure.files import PREDICTIONS
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.measure.metric import compare
from reno_dspy.measure.stats import in_words, paired_difference


def measure_on_test(
    result: OptimizeResult,
    config: OptimizeConfig,
    student: LMSpec,
    tracker: Tracker,
) -> None:
    """Evaluate both prompts on `test` (runs of their own in OUT/test-seed and OUT/test-best).

    Answers are kept: a second call costs nothing. Writes OUT/final.md.
    """
    test = load(config.data, "test", strict=config.strict_data, with_text=True)
    scores = []
    for name, candidate in (("test-seed", result.candidates[0]), ("test-best", result.best)):
        options = EvaluateConfig(
            system=config.student, data=config.data, out=config.out / name, split="test"
        )
        system = LMSystem(_name(config, candidate), student, candidate.prompt, config.threads)
        evaluate(options, system, test, tracker)
        records = JsonlLog(options.out / PREDICTIONS).read()
        chars = len(candidate.prompt.instructions)
        scores.append([score(record, config.objective, chars) for record in records])
    said = sentence(scores[0], scores[1], [row.cluster for row in test.rows])
    write_text(config.out / "final.md", said + "\n")


def score(record: dict[str, Any], objective: Objective, prompt_chars: int) -> float:
    """The objective of one stored prediction."""
    compared = compare(record["xml"], record["prediction"], plaintext=record["plaintext"])
    return citation_score(compared, objective, prompt_chars)


def sentence(seed: Sequence[float], best: Sequence[float], clusters: Sequence[str | None]) -> str:
    """What became of both prompts on test: scores of the seed and of the best, one a row."""
    ones = [1.0] * len(seed)
    difference = paired_difference(best, ones, seed, ones, clusters)
    change = f"{sum(seed) / len(seed):.3f} -> {sum(best) / len(best):.3f} over {len(seed)} rows"
    if difference is None:
        return f"Test score {change}; too few citing articles for an interval."
    shown = "" if difference.too_few_articles else f", p = {difference.p:.3f}"
    return f"Test score {change} ({points(difference)}{shown}): {in_words(difference)}."


def _name(config: OptimizeConfig, candidate: Candidate) -> str:
    return f"{config.student}, {candidate.prompt.name}"
