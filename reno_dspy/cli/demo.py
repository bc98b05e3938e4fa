"""`reno demo`: the whole job on the sample corpus, as the commands a user would type."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from reno_dspy.base.errors import InputError

# Two AVX2 cores together, in float32 products of 512 x 1024 x 1024.
_REFERENCE_GFLOPS = 190.0
_CALIBRATION_SECONDS = 1.0
CORPUS = Path(__file__).resolve().parents[2] / "examples" / "corpus" / "corpus.tsv"


class Cost(NamedTuple):
    """Seconds that a step takes on two quiet AVX2 cores: plain Python, and products of matrices."""

    python: float
    products: float

    def on(self, pace: float) -> float:
        """Seconds on a machine that takes `pace` times as long for products."""
        return self.python + pace * self.products


@dataclass(frozen=True)
class Sizes:
    """How much the demo does."""

    references: int
    max_tokens: int
    metric_calls: int
    steps: int


@dataclass(frozen=True)
class Step:
    """A command of the demo, what it is for, and what it costs at the default sizes."""

    purpose: str
    arguments: tuple[str, ...]
    cost: Cost


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/demo"),
              show_default=True, help="Where the demo's runs go; what is there is reused.")  # fmt: skip
@click.option("--references", type=click.IntRange(min=1), default=8, show_default=True,
              help="References that the language model is measured on.")  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(min=1), default=256, show_default=True,
              help="Longest answer of the language model.")  # fmt: skip
@click.option("--metric-calls", type=click.IntRange(min=1), default=7, show_default=True,
              help="Budget of the GEPA run.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=80, show_default=True,
              help="Training steps of the tagger.")  # fmt: skip
@click.option("--reflection-lm", help="A better reflection LM for GEPA, such as openai/NAME.")
def command(
    out: Path,
    references: int,
    max_tokens: int,
    metric_calls: int,
    steps: int,
    reflection_lm: str | None,
) -> None:
    """Build, evaluate, optimize, fine-tune, evaluate again and compare, on the sample corpus.

    Each step is an ordinary command, printed before it runs. A second run reuses what is there.
    """
    if not CORPUS.is_file():
        raise InputError(f"The sample corpus is not at {CORPUS}: run the demo from a checkout.")
    plan = _plan(out, Sizes(references, max_tokens, metric_calls, steps), reflection_lm)
    pace = _pace()
    whole = sum(step.cost.on(pace) for step in plan)
    click.echo(
        f"On this machine, when it is idle, the demo takes about {_about(whole)}; less where earlier "
        "results are reused."
    )
    started = time.monotonic()
    for number, step in enumerate(plan, start=1):
        _run(step, f"[{number}/{len(plan)}]", pace)
    minutes = (time.monotonic() - started) / 60
    click.secho(f"\nDone in {minutes:.1f} minutes.", bold=True)
    _print_measured(out)
    click.echo(
        "\nThe test articles were not used in training, but they share the styles of the others: a tagger\n"
        "learns those from few references. For references of any style, use the systems that ship.\n\n"
        f"The comparison: {out}/compare/comparison.html\n"
        "The runs, with metrics, prompts and curves, in the MLflow UI: reno ui\n"
        "(experiments reno/build, reno/evaluate, reno/optimize and reno/finetune; to compare two\n"
        "evaluations there, tick both and press Compare)."
    )


def _plan(out: Path, sizes: Sizes, reflection_lm: str | None) -> list[Step]:
    data = ("--data", str(out / "data"))
    crf, tuned = str(out / "crf"), str(out / "tuned")
    reflection = ("--reflection-lm", reflection_lm) if reflection_lm else ()
    return [
        Step(
            "Build a data set from 13 articles, PDF and JATS",
            ("build", "--corpus", _shown(CORPUS), "--out", str(out / "data")),
            Cost(15, 0),
        ),
        Step(
            "Measure a small language model, shown two worked examples",
            ("evaluate", "--system", "smollm2-135m", *data, "--limit", str(sizes.references),
             "--max-tokens", str(sizes.max_tokens), "--out", str(out / "two-shot")),
            Cost(12, 40),
        ),
        Step(
            "Optimize its prompt with GEPA (a small real run; a model of this size seldom improves it)",
            ("optimize", "embedded", *data, "--out", str(out / "optimize"),
             "--max-metric-calls", str(sizes.metric_calls),
             "--max-tokens", str(min(sizes.max_tokens, 128)),
             "--set", "dev_size=2", "--set", "minibatch=1", "--set", "budget.patience=2", *reflection),
            Cost(15, 65),
        ),
        Step(
            "Measure the classical baseline that ships, on all test references",
            ("evaluate", "--system", "crf", *data, "--out", crf),
            Cost(3, 0),
        ),
        Step(
            "Fine-tune a small tagger on the training references",
            ("finetune", "tagger-small", *data, "--out", str(out / "finetune"),
             "--max-steps", str(sizes.steps)),
            Cost(20, 60),
        ),
        Step(
            "Measure the new tagger on the same test references",
            ("evaluate", "--system", "tagger", "--adapter", str(out / "finetune"), *data,
             "--out", tuned),
            Cost(3, 2),
        ),
        Step(
            "Compare both, beside the paper's rows",
            ("compare", crf, tuned, "--published", "--out", str(out / "compare")),
            Cost(8, 0),
        ),
    ]  # fmt: skip


def _print_measured(out: Path) -> None:
    """Print the demo's three measurements as a table."""
    from rich.table import Table

    from reno_dspy.base.show import console, shown
    from reno_dspy.measure.measures import RECALL
    from reno_dspy.measure.result import read_report

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("Measured")
    for head in ("References", "Field recall, %", "Wholly right, %"):
        table.add_column(head, justify="right")
    systems = {
        "two-shot": "small language model, two examples",
        "crf": "the CRF that ships",
        "tuned": "the tagger trained just now",
    }
    for run, about in systems.items():
        report = read_report(out / run)
        recall = report.overall.value(RECALL)
        table.add_row(about, str(report.n), shown(recall), shown(report.share("whole_right")))
    console().print(table)


def _shown(path: Path) -> str:
    """`path` as one types it here, so that a checkout that was moved resumes as well."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _pace() -> float:
    """How many times as long products of matrices take here as on the machine of `Step.cost`.

    The fastest of a second's products counts: other jobs may disturb the rest. With bfloat16 instructions
    models take about half the time; below that, it is memory that they wait for.
    """
    import numpy as np

    from finetune.cpu import has_bfloat16

    a, b = np.ones((512, 1024), np.float32), np.ones((1024, 1024), np.float32)
    fastest, until = float("inf"), time.perf_counter() + _CALIBRATION_SECONDS
    while (started := time.perf_counter()) < until:
        a @ b
        fastest = min(fastest, time.perf_counter() - started)
    gflops = 2 * 512 * 1024 * 1024 / fastest / 1e9
    return max(_REFERENCE_GFLOPS / gflops * (0.5 if has_bfloat16() else 1.0), 0.5)


def _run(step: Step, place: str, pace: float) -> None:
    from reno_dspy.cli.main import group

    click.secho(f"\n{place} {step.purpose} (about {_about(step.cost.on(pace))})", bold=True)
    click.echo(f"$ reno {shlex.join(step.arguments)}")
    started = time.monotonic()
    group.main(list(step.arguments), prog_name="reno", standalone_mode=False)
    click.echo(f"{place} took {time.monotonic() - started:.0f} s.")


def _about(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
