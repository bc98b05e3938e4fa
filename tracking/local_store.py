"""The local MLflow store: one SQLite file, made whole or not at all.

MLflow creates its tables one migration after another in the file that it was given. Two first jobs at
once, a full disk or a kill in the middle leave a file that no later start can mend. So the tables are
made in a file of their own, which is renamed when it is complete, by one process at a time.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlparse

_PREFIX = "sqlite:///"
# Where MLflow keeps addresses of files: table and column.
_ADDRESSES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("trace_tags", "value"),
)


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


def follow(database: Path, artifacts: Path) -> None:
    """Let a store find its files after its folder was moved or copied.

    MLflow keeps absolute addresses. Those of this project's experiments are ARTIFACTS/JOB and below, in
    the folder beside the database. Raises sqlite3.Error for a database that is not MLflow's.
    """
    with closing(sqlite3.connect(database)) as connection, connection:
        for old in _former_roots(connection, artifacts):
            for before, after in (
                (old, artifacts.as_uri()),
                (str(_path_of(old)), str(artifacts)),
            ):
                for table, column in _ADDRESSES:
                    connection.execute(
                        f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                        f"WHERE substr({column}, 1, ?) = ?",
                        (f"{after}/", len(before) + 2, len(before) + 1, f"{before}/"),
                    )


def _former_roots(connection: sqlite3.Connection, artifacts: Path) -> set[str]:
    """Addresses of folders that were the store's `artifacts` before its own folder was moved."""
    query = "SELECT name, artifact_location FROM experiments WHERE name LIKE 'reno/%'"
    roots = set()
    for name, location in connection.execute(query):
        job = name.removeprefix("reno/")
        root = location.removesuffix(f"/{job}")
        is_elsewhere = root not in (location, artifacts.as_uri())
        # Another folder that is there, and of which nothing is here, was chosen by somebody.
        if is_elsewhere and ((artifacts / job).exists() or not _path_of(root).exists()):
            roots.add(root)
    return roots


def _path_of(address: str) -> Path:
    return Path(unquote(urlparse(address).path))
