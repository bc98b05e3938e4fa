"""What a run was made from and what was made from it, by digests.

A run says in tags what it used and made: `uses.prompt`, `makes.prompt`, `uses.dataset`, ... A run that made
a digest comes before one that used it; comparisons and reviews use whole runs (`uses.runs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracking.runs import all_runs, run_link

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

NOTE = "mlflow.note.content"
USES, MAKES, RUNS = "uses.", "makes.", "uses.runs"
_HEAD = "\n\n---\n"
_MOST_LINKS = 12


@dataclass(frozen=True)
class Link:
    """A neighbouring run, and by what it is one (`prompt 1f3a...`)."""

    run: Run
    by: str


def made_from(client: MlflowClient, run: Run) -> list[Link]:
    """The runs whose results `run` used, newest first."""
    links = [Link(one, "run") for one in _runs_by_id(client, run.data.tags.get(RUNS, ""))]
    for kind, digest in _tagged(run, USES):
        links += _search(client, f"{MAKES}{kind}", digest, kind, run)
    return _distinct(links)


def used_by(client: MlflowClient, run: Run) -> list[Link]:
    """The runs that used what `run` made, newest first."""
    query = f"tags.`{RUNS}` LIKE '%{run.info.run_id}%'"
    links = [Link(user, "run") for user in all_runs(client, ("compare", "review"), query)]
    for kind, digest in _tagged(run, MAKES):
        links += _search(client, f"{USES}{kind}", digest, kind, run)
    return _distinct(links)


def link_neighbours(client: MlflowClient, run_id: str) -> None:
    """Write links to its neighbours under a run's description, and under theirs a link to it."""
    run = client.get_run(run_id)
    before, after = made_from(client, run), used_by(client, run)
    _write_links(client, run, before, after)
    for neighbour in [*before, *after]:
        _write_links(
            client,
            neighbour.run,
            made_from(client, neighbour.run),
            used_by(client, neighbour.run),
        )


def _runs_by_id(client: MlflowClient, ids: str) -> Iterator[Run]:
    from mlflow.exceptions import MlflowException

    for run_id in ids.split():
        # A run may have been deleted for good since.
        with suppress(MlflowException):
            yield client.get_run(run_id)


def _tagged(run: Run, prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in run.data.tags.items():
        if name.startswith(prefix) and name != RUNS and value:
            yield name.removeprefix(prefix), value


def _search(client: MlflowClient, tag: str, digest: str, kind: str, run: Run) -> list[Link]:
    found = all_runs(client, (), f"tags.`{tag}` = '{_quoted(digest)}'")
    return [
        Link(other, f"{kind} {digest[:12]}")
        for other in found
        if other.info.run_id != run.info.run_id
    ]


def _quoted(value: str) -> str:
    return value.replace("'", "")


def _distinct(links: list[Link]) -> list[Link]:
    return list({link.run.info.run_id: link for link in links}.values())


def _write_links(client: MlflowClient, run: Run, before: list[Link], after: list[Link]) -> None:
    text = run.data.tags.get(NOTE, "").partition(_HEAD)[0]
    lines = [
        f"**{title}:** {', '.join(_markdown(link) for link in links[:_MOST_LINKS])}"
        for title, links in (("Made from", before), ("Used by", after))
        if links
    ]
    linked = text + (_HEAD + "\n\n".join(lines) if lines else "")
    if linked != run.data.tags.get(NOTE, ""):
        client.set_tag(run.info.run_id, NOTE, linked)


def _markdown(link: Link) -> str:
    name = str(link.run.info.run_name).replace("[", "(").replace("]", ")")
    return f"[{link.run.data.tags.get('job', 'run')}: {name}]({run_link(link.run)})"
