"""The metrics that a run should have in MLflow, read anew from the files in its directory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from reno_dspy.measure.measures import MEASURES, SHARES

Metrics = dict[str, float]
# Times and the machine's load: in MLflow only.
_BESIDE = re.compile(r"wall_s|seconds|system/.*")


def logged(metrics: Metrics) -> Metrics:
    """What a run has in MLflow, but for times and the machine's load."""
    return {name: value for name, value in metrics.items() if not _BESIDE.fullmatch(name)}


def of_build(run_dir: Path) -> Metrics:
    """Counts of each stage in `manifest.json`."""
    metrics: dict[str, Any] = {}
    for stage, counts in _json(run_dir / "manifest.json")["stages"].items():
        metrics |= {f"build/{stage}/in": counts["into"], f"build/{stage}/out": counts["out"]}
        for reason, count in counts["dropped"].items():
            metrics[f"build/{stage}/dropped/{re.sub(r'[^0-9A-Za-z]', '_', reason)}"] = count
    return _defined(metrics)


def of_evaluation(run_dir: Path) -> Metrics:
    """Shares and counts in `report.json`."""
    report = _json(run_dir / "report.json")
    metrics = {name: report[name] for name in ("n", "errors", "truncated", "cost")}
    for share in SHARES:
        ends = report["intervals"][share.name] or (None, None)
        metrics |= {share.name: report[share.name]}
        metrics |= {
            f"interval/{e}/{share.name}": v for e, v in zip(("low", "high"), ends, strict=True)
        }
    metrics |= {f"tokens/{kind}": report[f"{kind}_tokens"] for kind in ("prompt", "completion")}
    for field, shares in {**report["fields"], "overall": report["overall"]}.items():
        for measure in MEASURES:
            metrics[f"{measure.metric}/{field}"] = shares[measure.name]
    return _defined(metrics | _confidence(report.get("reliability")))


def _confidence(reliability: dict[str, Any] | None) -> dict[str, Any]:
    """How far the confidences of an evaluation can be trusted, where its system gives any."""
    if reliability is None:
        return {}
    accepted = reliability["accepted"]
    return {
        "confidence/ece": reliability["ece"],
        "confidence/aurc": reliability["aurc"],
        "confidence/accepted": accepted and 100 * accepted["n"] / reliability["n"],
        "confidence/threshold": accepted and accepted["threshold"],
    }


def of_optimize(run_dir: Path) -> Metrics:
    """The outcome in `result.json`, and the best candidate's fields in `candidates.json`."""
    result, candidates = _json(run_dir / "result.json"), _json(run_dir / "candidates.json")
    difference = result["difference"] or {"low": None, "high": None}
    usable = result["proposals"].get("usable", 0)
    metrics = {
        "dev/seed": result["seed_score"],
        "dev/best": result["best_score"],
        "dev/gain": result["best_score"] - result["seed_score"],
        "dev/gain/low": difference["low"],
        "dev/gain/high": difference["high"],
        "metric_calls": result["metric_calls"],
        "candidates": len(candidates),
        "proposals/usable": usable,
        "proposals/unusable": sum(result["proposals"].values()) - usable,
        "prompt/copied": result["copied"],
        "requests/failed": sum(result["failures"].values()),
    }
    for lm in ("student", "reflection"):
        spent = result[lm]
        metrics[f"tokens/{lm}"] = spent["prompt_tokens"] + spent["completion_tokens"]
        metrics[f"cost/{lm}"] = spent["cost"]
    best = candidates[result["best"]]["fields"]
    return _defined(metrics | {f"dev/{field}": value for field, value in best.items()})


def of_candidates(run_dir: Path) -> dict[str, Metrics]:
    """By the name of its nested run, the scores of each row of `candidates.json`."""
    return {
        f"candidate-{row['index']}": _defined(
            {"dev/score": row["score"], "metric_calls": row["metric_calls"]}
            | {f"dev/{field}": value for field, value in row["fields"].items()}
        )
        for row in _json(run_dir / "candidates.json")
    }


def of_finetune(run_dir: Path) -> Metrics:
    """The last step in `train.jsonl`, the last and the best measurement in `evaluations.jsonl`."""
    measured = [_measured(record) for record in _lines(run_dir / "evaluations.jsonl")]
    best = max(measured, key=lambda values: values.get("recall", -1.0))
    return (
        _measured(_lines(run_dir / "train.jsonl")[-1])
        | {f"dev/{name}": value for name, value in measured[-1].items()}
        | {f"best/{name}": value for name, value in best.items()}
    )


def losses(run_dir: Path) -> dict[int, float]:
    """The loss at each step in `train.jsonl`."""
    return {record["step"]: record["train/loss"] for record in _lines(run_dir / "train.jsonl")}


def _measured(record: dict[str, Any]) -> Metrics:
    return _defined({name: value for name, value in record.items() if name != "step"})


def _defined(metrics: dict[str, Any]) -> Metrics:
    return {name: float(value) for name, value in metrics.items() if value is not None}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
