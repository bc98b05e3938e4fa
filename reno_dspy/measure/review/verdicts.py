"""A read review as a run of its own, beside the evaluation whose precision it corrects.

It lies in the evaluation's directory under `reviews/`, once for each sample: the same table with more
verdicts continues its run. In MLflow it is found from the evaluation, and compared with other reviews.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest, write_bytes, write_json
from reno_dspy.base.rundir import RunDir, read_config
from reno_dspy.base.tracker import DataRef, Run, Tracker
from reno_dspy.measure.files import REPORT, REVIEWS
from reno_dspy.measure.review.sample import Corrected, read_table, read_verdicts


def keep_review(
    verdicts: Path, run: Path, evaluation: str | None, tracker: Tracker
) -> dict[str, Corrected]:
    """Keep what a table of verdicts says of the evaluation in `run`; returns it by field.

    `evaluation` is the tracking store's id of that evaluation, where it has one. Raises InputError for
    a table that cannot be read and for a `run` that is no finished evaluation.
    """
    corrected = read_verdicts(verdicts)
    report = _read_report(run)
    rows = read_table(verdicts)
    config = {"sample": _sample(rows), "profile": rows[0].get("profile") or report["profile"]}
    path = run / REVIEWS / config["sample"]
    inputs = {name: report[name] for name in ("data_digest", "system", "identity")}
    name = f"{report['system']} on {report['data']} ({len(rows)} wrong values)"
    with (
        RunDir.open(
            path, "review", config, depends_on=inputs, anew=f"move {path} away and import again"
        ) as run_dir,
        tracker.start("review", name, run_dir=run_dir.path, config=config) as tracked,
    ):
        write_bytes(run_dir / "verdicts.csv", verdicts.read_bytes())
        write_json(run_dir / "corrected.json", {k: asdict(v) for k, v in corrected.items()})
        tags = {"system": report["system"], "data": report["data"], "profile": config["profile"]}
        tracked.tags(tags | ({"uses.runs": evaluation} if evaluation else {}))
        _tell(tracked, run, report, corrected)
        for kept in ("verdicts.csv", "corrected.json"):
            tracked.artifact(run_dir / kept)
    return corrected


def run_of(verdicts: Path) -> Path:
    """The evaluation that a table was exported from. Raises InputError where it does not say."""
    run = read_table(verdicts)[0].get("run")
    if not run:
        raise InputError(f"{verdicts} does not say which evaluation it is of; name it with --run.")
    return Path(run)


def _read_report(run: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads((run / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{run} is no finished evaluation here, to which the review could be kept (no readable "
            f"{REPORT}). Name its directory with --run, or say --no-tracking to see the result alone."
        ) from error
    return report


def _sample(rows: list[dict[str, str]]) -> str:
    """Twelve hexadecimal digits by which a sample is known, whatever was judged of it so far."""
    known = "\n".join([rows[0]["totals"], *sorted(row["id"] for row in rows)])
    return digest(known, 12)


def _tell(
    tracked: Run, run: Path, report: Mapping[str, Any], corrected: Mapping[str, Corrected]
) -> None:
    path = str(read_config(run)["config"].get("data", ""))
    tracked.data(DataRef(report["data"], report["data_digest"], path, report["n"]), "test")
    for field, one in corrected.items():
        ends = one.interval
        tracked.metrics({
            f"precision/lenient/{field}": _percent(one.precision),
            f"precision/corrected/{field}": _percent(one.corrected),
            f"precision/corrected/low/{field}": _percent(ends.low if ends else None),
            f"precision/corrected/high/{field}": _percent(ends.high if ends else None),
            f"verdicts/right/{field}": one.right_verdicts,
            f"verdicts/wrong/{field}": one.wrong_verdicts,
            f"verdicts/unclear/{field}": one.unclear,
        })  # fmt: skip
    tracked.describe(_describe(report, corrected))


def _describe(report: Mapping[str, Any], corrected: Mapping[str, Corrected]) -> str:
    lines = [
        f"Precision of **{report['system']}** on {report['data']}, corrected by a review of values "
        "that have no match in the gold.",
        "",
        "| field | judged | right | unclear | precision | corrected | 95% interval |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in table(corrected))]) + "\n"


def table(corrected: Mapping[str, Corrected]) -> list[tuple[str, ...]]:
    """Lines of text: field, judged, right, unclear, precision, corrected, interval."""
    lines: list[tuple[str, ...]] = []
    for name, one in corrected.items():
        ends = one.interval
        lines.append(
            (
                name,
                str(one.right_verdicts + one.wrong_verdicts),
                str(one.right_verdicts),
                str(one.unclear),
                _shown(one.precision),
                _shown(one.corrected),
                f"{_shown(ends.low)} to {_shown(ends.high)}" if ends else "–",
            )
        )
    return lines


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 4)


def _shown(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
