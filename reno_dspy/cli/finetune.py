"""`reno finetune`: fine-tune a small model with LoRA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from finetune.base import EMBEDDED
from finetune.recipe import RECIPES, FinetuneConfig
from reno_dspy.cli.options import job_options

if TYPE_CHECKING:
    from finetune.training.loop import FinetuneResult


@click.command("finetune")
@job_options(FinetuneConfig, recipes=RECIPES)
def command(config: FinetuneConfig, *, fresh: bool, tracking: bool) -> None:
    """Fine-tune a small model on a data set's train, choosing the best weights on its dev.

    RECIPE is one that ships (`smollm2-135m`, `qwen3-0.6b`, `tiny`; the `tagger` recipes label
    words instead of writing XML) or a YAML file. The same command again resumes.
    `reno evaluate --adapter OUT` takes the result, `reno serve` an adapter of a language model.
    With --from, a tagger on an encoder learns more (`tagger-corrections`).
    """
    from finetune.training.data import load_data
    from finetune.training.processes import processes
    from reno_dspy.cli.tracking import open_tracker

    if config.encoder:
        from finetune.training.encoder import train_encoder as train
    elif config.tagger:
        from finetune.training.tagger import train_tagger as train
    else:
        from finetune.training.sft import finetune as train
    result = train(config, load_data(config), open_tracker(tracking), fresh=fresh)
    if processes().is_main_process:
        _print(config, result)


def _print(config: FinetuneConfig, result: FinetuneResult) -> None:
    rows = result.rows
    click.echo(
        f"Rows: {rows['used']} of {rows['given']} used; left out: {rows['dropped'] or 'none'}."
    )
    if rows["unplaced_values"]:
        click.echo(f"Gold values that found no place in the text: {rows['unplaced_values']}.")
    if result.losses:
        first, last = (list(result.losses.values())[i] for i in (0, -1))
        click.echo(f"Loss: {first:.3f} at the first step, {last:.3f} at step {max(result.losses)}.")
    if result.best:
        click.echo(
            f"Best on dev: step {result.best['step']}, field recall {result.best['recall'] or 0:.1f}%, "
            f"valid XML {result.best['valid_xml']:.1f}%."
        )
    click.echo(f"Adapter {result.adapter.name()}: {result.adapter.path}")
    if config.tagger or config.encoder:
        system = "tagger" if config.encoder else "tagger-smollm2"
        click.echo(
            f"  reno evaluate --system {system} --adapter {config.out} --data DATA --out DIR"
        )
        return
    if result.adapter.manifest.base == EMBEDDED:
        click.echo(
            f"  reno evaluate --system embedded --adapter {config.out} --data DATA --out DIR"
        )
    click.echo(f"  reno serve {config.base} --adapter {config.out}")
