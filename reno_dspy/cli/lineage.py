"""`reno lineage`: what a run came from and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient
    from rich.tree import Tree

    from tracking.lineage import Link

    Neighbours = Callable[[MlflowClient, Run], list[Link]]


@click.command("lineage")
@click.argument("run")
def command(run: str) -> None:
    """Follow a RUN (run directory, MLflow run id or name) back to its build and on to its uses."""
    from rich.tree import Tree

    from reno_dspy.base.show import console
    from tracking.lineage import made_from, used_by
    from tracking.runs import find_run
    from tracking.store import open_existing

    client = open_existing()
    found = find_run(client, run)
    out = console()
    out.print(_shown(found), highlight=False)
    for title, neighbours in (("Made from", made_from), ("Used by", used_by)):
        tree = Tree(title)
        _grow(tree, client, found, neighbours, {found.info.run_id})
        if not tree.children:
            tree.add("[dim]nothing that is tracked[/dim]")
        out.print(tree, highlight=False)


def _grow(
    tree: Tree, client: MlflowClient, run: Run, neighbours: Neighbours, seen: set[str]
) -> None:
    for link in neighbours(client, run):
        branch = tree.add(f"{_shown(link.run)} [dim]by {link.by}[/dim]")
        if link.run.info.run_id not in seen:
            seen.add(link.run.info.run_id)
            _grow(branch, client, link.run, neighbours, seen)


def _shown(run: Run) -> str:
    from rich.markup import escape

    name = escape(str(run.info.run_name))
    return f"{run.data.tags.get('job', '?')}: [bold]{name}[/bold] {run.info.run_id[:8]}"
