"""The local MLflow store: one SQLite file, made whole or not at all.

MLflow creates its tables one migration after another in the file that it was given. Two first jobs at
once, a full disk or a kill in the middle leave a file that no later start can mend. So the tables are
made in a file of their own, which is renamed when it is complete, by one process at a time.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_PREFIX = "sqlite:///"


def database_of(uri: str) -> Path | None:
    """The file of a local SQLite store; None for any other kind of store."""
    return Path(uri.removeprefix(_PREFIX)).resolve() if uri.startswith(_PREFIX) else None


def create(database: Path, artifacts: Path) -> None:
    """Create the store `database` unless it exists, and the folder `artifacts`.

    Raises OSError, or what MLflow and SQLAlchemy raise, and then leaves no store.
    """
    artifacts.mkdir(parents=True, exist_ok=True)
    if _exists(database):
        return
    with open(database.with_name(f".{database.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _exists(database):
            _create(database, artifacts)


def _exists(database: Path) -> bool:
    """Whether there is a store; SQLite makes an empty file as soon as somebody opens it."""
    return database.is_file() and database.stat().st_size > 0


def _create(database: Path, artifacts: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    for left in database.parent.glob(f".{database.name}.*.tmp*"):
        left.unlink()
    temporary = database.with_name(f".{database.name}.{os.getpid()}.tmp")
    try:
        store = SqlAlchemyStore(f"{_PREFIX}{temporary}", str(artifacts))
        store.engine.dispose()
        temporary.replace(database)
    finally:
        temporary.unlink(missing_ok=True)
