"""`reno runs`: log, list and clean up runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("runs", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Log, list and clean up the runs in the MLflow store."""


@command.command("log")
@click.argument("run_dir", type=click.Path(path_type=Path))
def log(run_dir: Path) -> None:
    """Write a run directory into MLflow: what was not written yet, and nothing twice.

    For runs made with --no-tracking, and for those whose tracking server went away.
    """
    from reno_dspy.base.errors import InputError
    from reno_dspy.base.extras import require
    from tracking.mlflow_tracker import log_run_dir
    from tracking.store import public_uri, store_uri

    if not run_dir.is_dir():
        raise InputError(f"{run_dir} is no directory; name the --out directory of a job.")
    require("track", "reno runs log")
    run = log_run_dir(run_dir)
    click.echo(f"{run_dir} is run {run} in {public_uri(store_uri())}.")


@command.command("trace")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--count", default="20", show_default=True, help="How many references, or `all`.")
def trace(run_dir: Path, count: str) -> None:
    """Write one MLflow trace a reference of a finished evaluation: asked, answered, field hits."""
    from reno_dspy.base.errors import InputError
    from tracking.traces import log_traces

    if count != "all" and not count.isdigit():
        raise InputError(f"--count takes a number or `all`, not {count!r}.")
    written = log_traces(run_dir, None if count == "all" else int(count))
    click.echo(f"{written} new traces, in the run's Traces tab.")


@command.command("list")
@click.option("--job", help="Only runs of this job (evaluate, optimize, ...).")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The newest so many."
)
def list_(job: str | None, limit: int) -> None:
    """List the newest runs."""
    from datetime import datetime

    from rich.table import Table
    from rich.text import Text

    from reno_dspy.base.show import console
    from tracking.runs import all_runs, is_nested
    from tracking.store import open_existing

    runs = [run for run in all_runs(open_existing(), (job,) if job else ()) if not is_nested(run)]
    table = Table(box=None, pad_edge=False)
    for head in ("Started", "Job", "State", "Run", "Name"):
        table.add_column(head, no_wrap=head != "Name", overflow="fold")
    for run in runs[:limit]:
        started = datetime.fromtimestamp(run.info.start_time / 1000).strftime("%m-%d %H:%M")
        job_name = run.data.tags.get("job", "")
        table.add_row(
            started, job_name, run.info.status, run.info.run_id[:8], Text(str(run.info.run_name))
        )
    console().print(table)
    if len(runs) > limit:
        click.echo(f"{len(runs) - limit} older ones: --limit {len(runs)}")


@command.command("clean")
@click.option("--dry-run", is_flag=True, help="Say what would be done and do nothing.")
@click.option("--delete-failed", is_flag=True, help="Move failed and killed runs to the trash.")
@click.option(
    "--run", "named", multiple=True, metavar="ID", help="Close this run, wherever it was started."
)
def clean_(dry_run: bool, delete_failed: bool, named: tuple[str, ...]) -> None:
    """Close runs whose process died (`kill -9`, power cut); they show as RUNNING for ever.

    Runs of other hosts and containers are left, and listed: name those that you know to be dead.
    Deleted runs can be restored in the MLflow UI. Run directories are not touched.
    """
    from tracking.housekeeping import clean, plan_cleaning
    from tracking.store import open_existing

    client = open_existing()
    cleaning = plan_cleaning(client, delete_failed=delete_failed, named=named)
    for what, runs in (("close as KILLED", cleaning.close), ("delete", cleaning.delete)):
        for run in runs:
            click.echo(f"{what}: {run.info.run_id[:8]} {run.info.run_name}")
    for run, reason in cleaning.left:
        click.echo(f"left: {run.info.run_id[:8]} {run.info.run_name} ({reason})")
    if cleaning.left:
        click.echo("If one of these is dead, close it with --run ID.")
    if not cleaning.close and not cleaning.delete:
        click.echo("Nothing to clean.")
    elif not dry_run:
        clean(client, cleaning)


@command.command("published")
def published() -> None:
    """Put the paper's tables 1-4 into MLflow as runs tagged `published`, beside the evaluations."""
    from tracking.compare.published import import_published
    from tracking.store import open_client, open_existing, public_uri, store_uri

    open_client()  # a new local store is made
    ids = import_published(open_existing())
    click.echo(
        f"{len(ids)} published rows are in {public_uri(store_uri())} (tag published = true)."
    )
