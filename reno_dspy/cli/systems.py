"""The system that a command line names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from reno_dspy.cli.prompts import local_prompt
from reno_dspy.systems import System, registry
from reno_dspy.systems.options import SystemOptions


@contextmanager
def open_system(options: SystemOptions, log: Path) -> Iterator[System]:
    """`registry.open_system`, whose prompt may also be a version in MLflow's registry."""
    with local_prompt(options.prompt) as prompt:
        named = options.model_copy(update={"prompt": prompt})
        with registry.open_system(named, log) as system:
            yield system


class SystemCommand(click.Command):
    """A command with `--system`, whose help lists the systems and the recipes that ship."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists."""
        from programs.systems import recipe_names

        with formatter.section("Systems"):
            formatter.write_dl([(name, entry.about) for name, entry in registry.ROWS.items()])
        with formatter.section("Recipes that ship"):
            formatter.write_text(", ".join(recipe_names()))
