"""`reno demo`: the whole job on the sample corpus, as the commands a user would type."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path

import click

from reno_dspy.base.errors import InputError

# GFLOP/s of two AVX2 cores together, in float32 products of 512 x 1024 x 1024.
_REFERENCE_SPEED = 190.0
_CALIBRATION_SECONDS = 1.0
CORPUS = Path(__file__).resolve().parents[2] / "examples" / "corpus" / "corpus.tsv"


@dataclass(frozen=True)
class Step:
    """A command of the demo, what it is for, and how many seconds it takes on two slow cores.

    They have no bfloat16 instructions and multiply float32 matrices at `_REFERENCE_SPEED`.
    """

    purpose: str
    arguments: tuple[str, ...]
    seconds: int


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/demo"),
              show_default=True, help="Where the demo's runs go; what is there is reused.")  # fmt: skip
@click.option("--references", type=click.IntRange(min=1), default=8, show_default=True,
              help="References that each system is measured on.")  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(min=1), default=256, show_default=True,
              help="Longest answer.")  # fmt: skip
@click.option("--metric-calls", type=click.IntRange(min=1), default=9, show_default=True,
              help="Budget of the GEPA run.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=14, show_default=True,
              help="Training steps of the LoRA run.")  # fmt: skip
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
    plan = _plan(out, references, max_tokens, metric_calls, steps, reflection_lm)
    pace = _pace()
    whole = pace * sum(step.seconds for step in plan)
    click.echo(
        f"On this machine the demo takes about {_about(whole)}, less where something is reused."
    )
    started = time.monotonic()
    for number, step in enumerate(plan, start=1):
        _run(step, f"[{number}/{len(plan)}]", pace)
    minutes = (time.monotonic() - started) / 60
    click.secho(f"\nDone in {minutes:.1f} minutes.", bold=True)
    click.echo(
        f"The comparison: {out}/compare/comparison.html\n"
        "The runs, with metrics, prompts and curves, in the MLflow UI: reno ui\n"
        "(experiments reno/build, reno/evaluate, reno/optimize and reno/finetune; to compare two\n"
        "evaluations there, tick both and press Compare)."
    )


def _plan(
    out: Path,
    references: int,
    max_tokens: int,
    metric_calls: int,
    steps: int,
    reflection_lm: str | None,
) -> list[Step]:
    data = str(out / "data")
    measure = ("--data", data, "--limit", str(references))
    answers = (*measure, "--max-tokens", str(max_tokens))
    runs = [str(out / name) for name in ("two-shot", "tuned", "crf")]
    reflection = ("--reflection-lm", reflection_lm) if reflection_lm else ()
    return [
        Step(
            "Build a data set from 13 articles, PDF and JATS",
            ("build", "--corpus", _shown(CORPUS), "--out", data),
            20,
        ),
        Step(
            "Measure the small model as it comes, shown two worked examples",
            ("evaluate", "--system", "smollm2-135m", *answers, "--out", runs[0]),
            45,
        ),
        Step(
            "Optimize its prompt with GEPA (a small real run; it may honestly find nothing)",
            ("optimize", "embedded", "--data", data, "--out", str(out / "optimize"),
             "--max-metric-calls", str(metric_calls), "--max-tokens", str(min(max_tokens, 128)),
             "--set", "dev_size=3", "--set", "minibatch=1", *reflection),
            70,
        ),
        Step(
            "Fine-tune it with LoRA",
            ("finetune", "smollm2-135m", "--data", data, "--out", str(out / "finetune"),
             "--max-steps", str(steps), "--set", "dev.rows=4", "--set", "dev.max_tokens=256"),
            150,
        ),
        Step(
            "Measure it with its new adapter",
            ("evaluate", "--system", "embedded", "--adapter", str(out / "finetune"), *answers,
             "--out", runs[1]),
            40,
        ),
        Step(
            "Measure the classical baseline that ships",
            ("evaluate", "--system", "crf", *measure, "--out", runs[2]),
            5,
        ),
        Step(
            "Compare them, beside the paper's rows",
            ("compare", *runs, "--published", "--out", str(out / "compare")),
            10,
        ),
    ]  # fmt: skip


def _shown(path: Path) -> str:
    """`path` as one types it here, so that a checkout that was moved resumes as well."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _pace() -> float:
    """How many times as long this machine takes as the one that `Step.seconds` were measured on.

    Nearly all time goes into matrix products, so that a second of them tells. The fastest counts: other
    jobs may disturb the rest. With bfloat16 instructions the language model takes about half the time.
    """
    import numpy as np

    a, b = np.ones((512, 1024), np.float32), np.ones((1024, 1024), np.float32)
    fastest, until = float("inf"), time.perf_counter() + _CALIBRATION_SECONDS
    while (started := time.perf_counter()) < until:
        a @ b
        fastest = min(fastest, time.perf_counter() - started)
    speed = 2 * 512 * 1024 * 1024 / fastest / 1e9
    return _REFERENCE_SPEED / speed * (0.5 if _has_bfloat16() else 1.0)


def _has_bfloat16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _run(step: Step, place: str, pace: float) -> None:
    from reno_dspy.cli.main import group

    click.secho(f"\n{place} {step.purpose} (about {_about(pace * step.seconds)})", bold=True)
    click.echo(f"$ reno {shlex.join(step.arguments)}")
    started = time.monotonic()
    group.main(list(step.arguments), prog_name="reno", standalone_mode=False)
    click.echo(f"{place} took {time.monotonic() - started:.0f} s.")


def _about(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
