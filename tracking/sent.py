"""How far each store has a run directory's journal: kept in the directory, in `tracking.json`.

Nothing is lost with it: a store recognizes a journal's runs by their identity, and whatever is sent twice
changes nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reno_dspy.base.files import write_json
from tracking.local_store import database_of
from tracking.store import public_uri

STATE = "tracking.json"


@dataclass
class Sent:
    """What one store has: the number of events, the ids of its runs by their keys, their experiment."""

    sent: int = 0
    runs: dict[str, str] = field(default_factory=dict)
    experiment: str = ""


def read_sent(run_dir: Path, uri: str) -> Sent:
    """What the store at `uri` has of the journal in `run_dir`, by the file beside it; else nothing."""
    stores = _read(run_dir)
    # Directories of earlier versions name a local store by its path.
    found = stores.get(_key(run_dir, uri)) or stores.get(public_uri(uri))
    return Sent(**found) if found else Sent()


def write_sent(run_dir: Path, uri: str, sent: Sent) -> None:
    """Remember what the store at `uri` has."""
    write_json(run_dir / STATE, _read(run_dir) | {_key(run_dir, uri): asdict(sent)})


def _key(run_dir: Path, uri: str) -> str:
    """The name of a store. A local one is named from the run directory, since both are moved together."""
    database = database_of(uri)
    if database is None:
        return public_uri(uri)
    return f"sqlite:{os.path.relpath(database, run_dir.resolve())}"


def _read(run_dir: Path) -> dict[str, Any]:
    try:
        stores = json.loads((run_dir / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stores if isinstance(stores, dict) else {}
