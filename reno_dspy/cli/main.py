"""The group of commands and how errors reach the user.

reno --help
"""

from __future__ import annotations

import importlib
import io
import os
import sys

import click

from reno_dspy import __version__
from reno_dspy.base.errors import RenoError
from reno_dspy.base.extras import explained, require
from reno_dspy.base.loopback import bypass_proxies
from reno_dspy.base.secrets import redact

# Name -> what `reno --help` says of it. `reno_dspy.cli.NAME` holds the command `command`.
COMMANDS = {
    "fetch": "Download a platform's PDFs and JATS, politely.",
    "build": "Build a benchmark data set from PDF + JATS pairs.",
    "synthesize": "Render training references from metadata, in any citation style.",
    "filter": "Check pairs of plain text and XML for errors of annotation.",
    "evaluate": "Measure a system on a data set.",
    "score": "Score stored predictions again; no LM is called.",
    "calibrate": "Fit a model's confidence to references that it never saw.",
    "train-crf": "Train the classical baseline, a linear-chain CRF.",
    "optimize": "Optimize a prompt with GEPA.",
    "finetune": "Fine-tune a small model with LoRA.",
    "serve": "Serve a system to browsers and programs, or a language model to systems.",
    "annotate": "Annotate your own references, from text or PDF.",
    "compare": "Print runs side by side, in the layout of the paper's tables.",
    "leaderboard": "The best run of every system on one data set.",
    "lineage": "What a run came from and what came of it.",
    "review": "Sample wrong values for human review; report the corrected precision.",
    "audit": "Find errors of the gold that several systems agree on.",
    "runs": "Log, list and clean up runs.",
    "ui": "Open the MLflow UI over this project's runs.",
    "demo": "Build, evaluate, optimize, fine-tune and compare on the sample corpus.",
}

# Commands that do nothing without one of the extras of an installation.
EXTRAS = {
    "synthesize": "synth",
    "optimize": "lm",
    "finetune": "tune",
    "serve": "serve",
    "leaderboard": "track",
    "lineage": "track",
    "runs": "track",
    "ui": "track",
}


class LazyGroup(click.Group):
    """Imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which work goes."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"reno_dspy.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was named. Raises InputError when it lacks an optional package."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            name = ctx.invoked_subcommand or ""
            if name in EXTRAS:
                require(EXTRAS[name], f"reno {name}")
            raise explained(error) or error from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="reno-dspy")
def group() -> None:
    """Plain-text references to JATS XML: build, measure, optimize, fine-tune, serve, compare."""


def main() -> None:
    """Run `reno`; exit codes: 0 ok, 1 the job failed, 2 the request is wrong, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal's encoding lacks must not end a job that is done.
            stream.reconfigure(errors="backslashreplace")
    bypass_proxies()
    try:
        group(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RenoError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _fail("Interrupted. What was done is kept: the same command resumes.", 130)
    except BrokenPipeError:
        # The reader of a pipe has gone (`reno ... | head`); Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _fail(f"{error.strerror or error}{where}. The same command resumes once it is mended.", 1)


def _fail(message: str, code: int) -> None:
    click.echo(f"reno: {redact(message)}", err=True)
    sys.exit(code)
