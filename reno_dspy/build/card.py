"""What a build reports: counts by stage, composition, pictures, the data set card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reno_dspy.base.files import write_json
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.build import filters
from reno_dspy.build.sample import Sample
from reno_dspy.build.store import Done, Record

COMPOSITION = "composition.json"
DROPPED = "sample.dropped.jsonl"


def features_of(pair: Record, groups: Mapping[str, object]) -> dict[str, str]:
    """A pair's value in each feature group of the target, as text (`true`, `pt`, `journal`)."""
    return {name: _as_text(pair.get(name)) for name in groups}


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def keep_sample(folder: Path, drawn: Sample) -> None:
    """Write the composition (target, mu, drawn, pool) and the warnings beside the stages."""
    value = {
        "composition": [asdict(part) for part in drawn.composition],
        "warnings": list(drawn.warnings),
        "squared_distance": drawn.squared_distance,
    }
    write_json(folder / COMPOSITION, value)


def keep_dropped(
    folder: Path,
    pool: Sequence[Record],
    firsts: Sequence[bool],
    unique: Sequence[Record],
    drawn: Sample,
) -> None:
    """Write `sample.dropped.jsonl` beside the stages: the id and reason of each pair not taken."""
    chosen = set(drawn.chosen)
    doubles = (pair for pair, first in zip(pool, firsts, strict=True) if not first)
    rest = (pair for index, pair in enumerate(unique) if index not in chosen)
    JsonlLog(folder / DROPPED).replace(
        {"id": pair["id"], "reason": reason}
        for pairs, reason in ((doubles, "duplicate"), (rest, "not drawn"))
        for pair in pairs
    )


def dropped(folder: Path) -> list[Record]:
    """What `keep_dropped` wrote."""
    return JsonlLog(folder / DROPPED).read()


def reasons_of(stages: Mapping[str, Done]) -> dict[str, dict[str, float | int]]:
    """The filter's tally: reason -> count, share of the failed pairs, share of all reasons."""
    pairs = (pair for record in stages["filter"].rows() for pair in record["pairs"])
    return filters.tally(pair["reasons"] for pair in pairs)


def stage_lines(stages: Mapping[str, Done]) -> list[tuple[str, str, str, str, str]]:
    """Per stage: name, in, out, dropped, and why (most frequent first) or what else was counted."""
    lines = []
    for name, done in stages.items():
        tally = done.tally
        dropped = tally.dropped.total() if name != "filter" else tally.into - tally.out
        notes = [f"{reason} {count:,}" for reason, count in tally.dropped.most_common()]
        notes += [f"({what}: {count:,})" for what, count in sorted(tally.also.items()) if count]
        lines.append(
            (
                name,
                f"{tally.into:,} {tally.unit_in}",
                f"{tally.out:,} {tally.unit_out}",
                f"{dropped:,}",
                ", ".join(notes),
            )
        )
    return lines


def metrics(stages: Mapping[str, Done]) -> dict[str, float | None]:
    """Counts under slash names for the tracker."""
    values: dict[str, float | None] = {}
    for name, done in stages.items():
        values[f"build/{name}/in"] = done.tally.into
        values[f"build/{name}/out"] = done.tally.out
        for reason, count in done.tally.dropped.items():
            values[f"build/{name}/dropped/{_slug(reason)}"] = count
    return values


def _slug(reason: str) -> str:
    kept = "".join(char if char.isalnum() else "_" for char in reason.split("(")[0].strip())
    return kept[:60]


def card(name: str, corpus: str, stages: Mapping[str, Done], sample: Mapping[str, Any]) -> str:
    """The data set card: what it is, how it was made, of what it is composed."""
    parts = [
        f"# {name}",
        "Pairs of a plain-text reference and its JATS annotation, built by `reno build` from PDF and "
        f"JATS of {len_of(stages)} articles (corpus `{corpus}`). Columns as in "
        "`public-knowledge-project/ref-annotation-benchmark`, then what is known of each pair.",
        "Splits are made of citing articles; no reference (same letters and digits) is in two. "
        "The licence of the rows is that of the citing articles.",
        "## Stages",
        _table(("stage", "in", "out", "dropped", "why"), stage_lines(stages)),
        "## Failed quality checks",
        _reasons_table(stages),
        "## Composition",
        composition_table(sample),
        *[f"> {warning}" for warning in sample["warnings"]],
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def len_of(stages: Mapping[str, Done]) -> int:
    """How many articles went in."""
    return stages["convert"].tally.into


def composition_table(sample: Mapping[str, Any]) -> str:
    """Target, mu, drawn and pool side by side, in percent, as Markdown."""
    rows = [
        (p["group"], p["value"], *(f"{100 * p[k]:.1f}" for k in ("target", "mu", "drawn", "pool")))
        for p in sample["composition"]
    ]
    return _table(("feature", "value", "target", "mu", "drawn", "pool"), rows)


def _reasons_table(stages: Mapping[str, Done]) -> str:
    rows = [
        (
            reason,
            f"{values['count']:,}",
            f"{100 * values['share_of_failed']:.1f}%",
            f"{100 * values['share_of_reasons']:.1f}%",
        )
        for reason, values in reasons_of(stages).items()
    ]
    if not rows:
        return "Every pair passed."
    return _table(("reason", "pairs", "of failed pairs", "of all reasons"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def draw_pictures(
    folder: Path, stages: Mapping[str, Done], sample: Mapping[str, Any]
) -> list[Path]:
    """`funnel.png` (what each stage leaves, and why the rest was dropped) and `composition.png`."""
    from matplotlib.figure import Figure

    funnel = Figure(figsize=(9, 4.5), layout="constrained")
    _draw_funnel(funnel.subplots(), stages)
    composition = Figure(figsize=(9, 5.5), layout="constrained")
    _draw_composition(composition.subplots(), sample["composition"])
    paths = [folder / "funnel.png", folder / "composition.png"]
    for path, figure in zip(paths, (funnel, composition), strict=True):
        figure.savefig(path, dpi=110)
    return paths


def _draw_funnel(axes: Any, stages: Mapping[str, Done]) -> None:
    names = [name for name in stages if name != "convert"]
    outs = [stages[name].tally.out for name in names]
    axes.barh(names[::-1], outs[::-1], color="#4c72b0")
    for place, name in enumerate(names[::-1]):
        tally = stages[name].tally
        why = ", ".join(f"{reason} {count:,}" for reason, count in tally.dropped.most_common(3))
        axes.text(tally.out, place, f" {tally.out:,}" + (f"   − {why}" if why else ""), va="center")
    axes.set_xlim(0, max(outs) * 1.9)
    axes.set_xlabel("references / pairs left")
    axes.set_title("What is left after each stage, and the first reasons why not")


def _draw_composition(axes: Any, parts: Sequence[Mapping[str, Any]]) -> None:
    kinds = (("pool", "#cccccc"), ("target", "#222222"), ("mu", "#4c72b0"), ("drawn", "#dd8452"))
    width = 0.8 / len(kinds)
    for place, (kind, color) in enumerate(kinds):
        at = [index + place * width for index in range(len(parts))]
        axes.bar(at, [100 * part[kind] for part in parts], width, label=kind, color=color)
    labels = [f"{part['group']}={part['value']}" for part in parts]
    axes.set_xticks([index + 0.3 for index in range(len(parts))], labels, rotation=60, ha="right")
    axes.set_ylabel("%")
    axes.legend()
    axes.set_title("Composition: pool, target, weighted pool (mu), draw")
