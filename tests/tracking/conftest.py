"""MLflow stores for the tests: a SQLite file, and a server over HTTP with artifacts of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracking.runs import all_runs
from tracking.server import serving
from tracking.store import open_client


@pytest.fixture(autouse=True, scope="session")
def _unwatched() -> Iterator[None]:
    """On a busy machine even a short run may last until its load is measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracking.machine._SECONDS", 3600)
        yield


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store without runs; its tables take seconds to make, so they are made once."""
    path = tmp_path_factory.mktemp("empty") / "mlflow.db"
    open_client(f"sqlite:///{path}").search_experiments(max_results=1)
    return path


@pytest.fixture
def store(empty_store: Path, tmp_path: Path) -> str:
    """The URI of a new SQLite store."""
    return _copied(empty_store, tmp_path)


@pytest.fixture(scope="session")
def server(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one real MLflow server, for all tests."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(empty_store, folder / "mlflow.db")
    with serving(f"sqlite:///{folder / 'mlflow.db'}", artifacts=folder / "kept-apart") as address:
        yield address


@pytest.fixture(params=["sqlite", "http"])
def anywhere(request: pytest.FixtureRequest) -> str:
    """Either kind of store, without runs; what holds for one must hold for the other."""
    kind = "store" if request.param == "sqlite" else "server"
    uri: str = request.getfixturevalue(kind)
    return _without_runs(uri)


@pytest.fixture(scope="module", params=["sqlite", "http"])
def anywhere_once(
    request: pytest.FixtureRequest, empty_store: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Either kind of store, set for all tests of a module; they write its runs once, and read."""
    if request.param == "sqlite":
        uri = _copied(empty_store, tmp_path_factory.mktemp("once"))
    else:
        uri = _without_runs(request.getfixturevalue("server"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        yield uri


def _copied(empty_store: Path, folder: Path) -> str:
    path = folder / "mlruns" / "mlflow.db"
    path.parent.mkdir()
    shutil.copy(empty_store, path)
    return f"sqlite:///{path}"


def _without_runs(uri: str) -> str:
    """All tests share one server: what another test left there is put away."""
    client = open_client(uri)
    for run in all_runs(client):
        client.delete_run(run.info.run_id)
    return uri


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings that MLflow 3.17 causes by itself are let through."""
    for item in items:
        if not item.path.is_relative_to(Path(__file__).parent):
            continue
        for message in ("The ``noload`` loader strategy", ".*Any type hint is inferred as AnyType"):
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{message}"))
