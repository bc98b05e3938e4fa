"""The result of an evaluation: one model, written to `report.json` and read back from it.

Everything that shows or compares results (terminal, Markdown, HTML, CSV, MLflow, the leaderboard) is a
view of `Report`. A report of an earlier version is read as well; what it did not measure is absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from reno_dspy.base.errors import InputError
from reno_dspy.measure.files import REPORT
from reno_dspy.measure.measures import COUNTS, MEASURES, SHARES
from reno_dspy.measure.reliability import Reliability

OVERALL = "overall"
_TALLIES = ("errors", "truncated", "fenced", "thought", "gold_malformed", "clusters")


@dataclass(frozen=True)
class Estimate:
    """A share in percent with its 95% interval; None where undefined (0/0) or not known."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval, None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)


UNKNOWN = Estimate(None)


@dataclass(frozen=True)
class FieldReport:
    """One field, or several together: its COUNTS, and of its MEASURES those that were taken."""

    counts: Mapping[str, int]
    measures: Mapping[str, Estimate]

    def value(self, measure: str) -> float | None:
        """A measure in percent; None where undefined or not taken."""
        return self.measures.get(measure, UNKNOWN).value


@dataclass(frozen=True)
class Slice:
    """A part of the data: `n` references, lenient recall by field and overall, shares of references."""

    n: int
    recall: Mapping[str, Estimate]
    shares: Mapping[str, Estimate]


@dataclass(frozen=True)
class Report:
    """What a system did on a data set.

    `shares` has those of SHARES that were taken, `fields` a report for each field compared, `overall` the
    scored fields together, `slices` attribute -> value -> that part of the data. `errors` counts failed
    requests, which are empty predictions; `truncated` answers cut by the token limit; `clusters` the
    citing articles that intervals are drawn from. Tokens and `cost` (US dollars) are None where no answer
    came with them, and so is `reliability` where none came with a confidence.
    """

    n: int
    profile: str
    shares: Mapping[str, Estimate]
    fields: Mapping[str, FieldReport]
    overall: FieldReport
    errors: int = 0
    truncated: int = 0
    fenced: int = 0
    thought: int = 0
    gold_malformed: int = 0
    clusters: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    slices: Mapping[str, Mapping[str, Slice]] = field(default_factory=dict)
    reliability: Reliability | None = None
    system: str | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    data_digest: str | None = None

    def share(self, name: str) -> float | None:
        """A share of the references in percent; None where undefined or not taken."""
        return self.shares.get(name, UNKNOWN).value

    def estimate(self, field: str, measure: str) -> Estimate:
        """A measure of one field; unknown for a field or measure that was not taken."""
        one = self.overall if field == OVERALL else self.fields.get(field)
        return UNKNOWN if one is None else one.measures.get(measure, UNKNOWN)

    def every_field(self) -> Iterator[tuple[str, FieldReport]]:
        """The fields by name and, last, `overall`."""
        yield from self.fields.items()
        yield OVERALL, self.overall

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, the content of `report.json`."""
        return {
            "n": self.n,
            "profile": self.profile,
            **{name: one.value for name, one in self.shares.items()},
            **{name: getattr(self, name) for name in _TALLIES},
            "intervals": {name: one.ends for name, one in self.shares.items()},
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
            "fields": {name: _field_to_json(one) for name, one in self.fields.items()},
            "overall": _field_to_json(self.overall),
            "slices": {
                by: {name: _slice_to_json(one) for name, one in parts.items()}
                for by, parts in self.slices.items()
            },
            "reliability": None if self.reliability is None else self.reliability.to_json(),
            "system": self.system,
            "identity": dict(self.identity),
            "data": self.data,
            "data_digest": self.data_digest,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The report that `to_json` made `values` of, by this version or an earlier one.

        Raises ValueError where they are no report.
        """
        try:
            return cls(**_report_values(values))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a report: {error!r}") from error

    def to_metrics(self) -> dict[str, float | None]:
        """The report as metrics with slash names, `recall/lenient/surname`."""
        metrics: dict[str, float | None] = {
            "n": self.n,
            "errors": self.errors,
            "truncated": self.truncated,
            "tokens/prompt": self.prompt_tokens,
            "tokens/completion": self.completion_tokens,
            "cost": self.cost,
        }
        for name, share in self.shares.items():
            metrics |= {
                name: share.value,
                f"interval/low/{name}": share.low,
                f"interval/high/{name}": share.high,
            }
        for name, one in self.every_field():
            metrics |= {f"{m.metric}/{name}": one.value(m.name) for m in MEASURES}
        return metrics | ({} if self.reliability is None else self.reliability.to_metrics())

    @classmethod
    def from_metrics(cls, metrics: Mapping[str, float], **origin: Any) -> Self:
        """What metrics keep of a report: no intervals but those of shares, no slices.

        `origin` gives profile, system, data and data_digest.
        """
        group = f"{MEASURES[0].metric}/"
        names = [name.removeprefix(group) for name in metrics if name.startswith(group)]
        fields = {name: _field_from_metrics(metrics, name) for name in names}
        overall = fields.pop(OVERALL, FieldReport({}, {}))
        shares = {
            share.name: Estimate(
                metrics[share.name],
                metrics.get(f"interval/low/{share.name}"),
                metrics.get(f"interval/high/{share.name}"),
            )
            for share in SHARES
            if share.name in metrics
        }
        return cls(
            n=int(metrics.get("n", 0)),
            shares=shares,
            fields=fields,
            overall=overall,
            errors=int(metrics.get("errors", 0)),
            truncated=int(metrics.get("truncated", 0)),
            prompt_tokens=_whole(metrics.get("tokens/prompt")),
            completion_tokens=_whole(metrics.get("tokens/completion")),
            cost=metrics.get("cost"),
            **origin,
        )


def read_report(run_dir: Path) -> Report:
    """The report in a run directory. Raises InputError when it has none that can be read."""
    path = run_dir / REPORT
    try:
        return Report.from_json(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(
            f"{run_dir} has no {REPORT}: it is no finished evaluation. The command that began it "
            "resumes it."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a report of `reno evaluate`: {error}") from error


def _report_values(values: Mapping[str, Any]) -> dict[str, Any]:
    plain = ("n", "profile", *_TALLIES, "cost", "system", "identity", "data", "data_digest")
    taken = [share.name for share in SHARES if share.name in values]
    return {
        **{name: values[name] for name in plain if name in values},
        "shares": {name: _estimate(values, name) for name in taken},
        # Once, 0 was written where no answer came with its tokens.
        "prompt_tokens": values.get("prompt_tokens") or None,
        "completion_tokens": values.get("completion_tokens") or None,
        "fields": {name: _field_from_json(one) for name, one in values["fields"].items()},
        "overall": _field_from_json(values[OVERALL]),
        "reliability": Reliability.from_json(found)
        if (found := values.get("reliability"))
        else None,
        "slices": {
            by: {name: _slice_from_json(one) for name, one in parts.items()}
            for by, parts in values["slices"].items()
        },
    }


def _estimate(values: Mapping[str, Any], name: str) -> Estimate:
    return Estimate(values[name], *(values["intervals"].get(name) or ()))


def _field_to_json(one: FieldReport) -> dict[str, Any]:
    values = {name: estimate.value for name, estimate in one.measures.items()}
    intervals = {name: estimate.ends for name, estimate in one.measures.items()}
    return {**one.counts, **values, "intervals": intervals}


def _field_from_json(values: Mapping[str, Any]) -> FieldReport:
    return FieldReport(
        counts={name: values[name] for name in COUNTS if name in values},
        measures={m.name: _estimate(values, m.name) for m in MEASURES if m.name in values},
    )


def _field_from_metrics(metrics: Mapping[str, float], name: str) -> FieldReport:
    found = {m.name: metrics.get(f"{m.metric}/{name}") for m in MEASURES}
    return FieldReport({}, {name: Estimate(v) for name, v in found.items() if v is not None})


def _slice_to_json(one: Slice) -> dict[str, Any]:
    return {
        "n": one.n,
        "recall_lenient": {name: estimate.value for name, estimate in one.recall.items()},
        "intervals": {name: estimate.ends for name, estimate in one.recall.items()},
        "shares": {
            name: {"value": estimate.value, "interval": estimate.ends}
            for name, estimate in one.shares.items()
        },
    }


def _slice_from_json(values: Mapping[str, Any]) -> Slice:
    recall = values["recall_lenient"]
    return Slice(
        n=values["n"],
        recall={
            name: Estimate(value, *(values["intervals"].get(name) or ()))
            for name, value in recall.items()
        },
        shares={
            name: Estimate(one["value"], *(one["interval"] or ()))
            for name, one in values.get("shares", {}).items()
        },
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
