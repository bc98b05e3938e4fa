"""A read review as a run of its own, beside the evaluation whose precision it corrects.

It lies in the evaluation's directory under `reviews/`, once for each sample: the same table with more
verdicts continues its run. In MLflow it is found from the evaluation, and compared with other reviews.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest, write_bytes, write_json
from reno_dspy.base.rundir import RunDir, read_config
from reno_dspy.base.show import markdown_table, percent, shown
from reno_dspy.base.tracker import DataRef, Run, Tracker
from reno_dspy.measure.files import REVIEWS
from reno_dspy.measure.result import Report, read_report
from reno_dspy.measure.review.sample import REQUIRED, Corrected, read_verdicts
from reno_dspy.measure.review.table import read_table

HEADS = ("field", "judged", "right", "unclear", "precision", "corrected", "95% interval")


def keep_review(
    verdicts: Path, run: Path, evaluation: str | None, tracker: Tracker
) -> dict[str, Corrected]:
    """Keep what a table of verdicts says of the evaluation in `run`; returns it by field.

    `evaluation` is the tracking store's id of that evaluation, where it has one. Raises InputError for
    a table that cannot be read and for a `run` that is no finished evaluation.
    """
    corrected = read_verdicts(verdicts)
    report = _read_report(run)
    rows = read_table(verdicts, REQUIRED)
    config = {"sample": _sample(rows), "profile": rows[0].get("profile") or report.profile}
    path = run / REVIEWS / config["sample"]
    inputs = {name: getattr(report, name) for name in ("data_digest", "system", "identity")}
    name = f"{report.system} on {report.data} ({len(rows)} wrong values)"
    with (
        RunDir.open(
            path, "review", config, depends_on=inputs, anew=f"move {path} away and import again"
        ) as run_dir,
        tracker.start("review", name, run_dir=run_dir.path, config=config) as tracked,
    ):
        write_bytes(run_dir / "verdicts.csv", verdicts.read_bytes())
        write_json(run_dir / "corrected.json", {k: asdict(v) for k, v in corrected.items()})
        tracked.tags(_tags(report, config["profile"], evaluation))
        _log(tracked, run, report, corrected)
        for kept in ("verdicts.csv", "corrected.json"):
            tracked.artifact(run_dir / kept)
    return corrected


def run_of(verdicts: Path) -> Path:
    """The evaluation that a table was exported from. Raises InputError where it does not say."""
    run = read_table(verdicts, REQUIRED)[0].get("run")
    if not run:
        raise InputError(f"{verdicts} does not say which evaluation it is of; name it with --run.")
    return Path(run)


def _read_report(run: Path) -> Report:
    try:
        return read_report(run)
    except InputError as error:
        raise InputError(
            f"{error}\nTo keep the review with its evaluation, name its directory with --run; "
            "--no-tracking prints the result alone."
        ) from error


def _tags(report: Report, profile: str, evaluation: str | None) -> dict[str, str]:
    tags = {"system": str(report.system), "data": str(report.data), "profile": profile}
    return tags | ({"uses.runs": evaluation} if evaluation else {})


def _sample(rows: list[dict[str, str]]) -> str:
    """Twelve hexadecimal digits by which a sample is known, whatever was judged of it so far."""
    known = "\n".join([rows[0]["totals"], *sorted(row["id"] for row in rows)])
    return digest(known, 12)


def _log(tracked: Run, run: Path, report: Report, corrected: Mapping[str, Corrected]) -> None:
    path = str(read_config(run)["config"].get("data", ""))
    tracked.data(DataRef(str(report.data), str(report.data_digest), path, report.n), "test")
    for field, one in corrected.items():
        ends = one.interval
        tracked.metrics(
            {
                f"precision/lenient/{field}": _percent(one.precision),
                f"precision/corrected/{field}": _percent(one.corrected),
                f"precision/corrected/low/{field}": _percent(ends.low if ends else None),
                f"precision/corrected/high/{field}": _percent(ends.high if ends else None),
                f"verdicts/right/{field}": one.right_verdicts,
                f"verdicts/wrong/{field}": one.wrong_verdicts,
                f"verdicts/unclear/{field}": one.unclear,
            }
        )
    tracked.describe(_describe(report, corrected))


def _describe(report: Report, corrected: Mapping[str, Corrected]) -> str:
    return (
        f"Precision of **{report.system}** on {report.data}, corrected by a review of values that "
        f"have no match in the gold.\n\n{markdown_table(HEADS, table(corrected))}"
    )


def table(corrected: Mapping[str, Corrected]) -> list[tuple[str, ...]]:
    """Lines of text under HEADS."""
    return [(name, *_cells(one)) for name, one in corrected.items()]


def _cells(one: Corrected) -> tuple[str, ...]:
    ends = one.interval
    return (
        str(one.right_verdicts + one.wrong_verdicts),
        str(one.right_verdicts),
        str(one.unclear),
        shown(_percent(one.precision)),
        shown(_percent(one.corrected)),
        f"{shown(_percent(ends.low))} to {shown(_percent(ends.high))}" if ends else shown(None),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else percent(share, 1)
