"""The corrections that people save on the page: one file in a folder, which one process writes.

with CorrectionStore.open(folder) as store:
    app.include_router(corrections_router(store))
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from fastapi import APIRouter, Body, Depends, HTTPException, Request
from pydantic import BaseModel, ConfigDict, ValidationError

from reno_dspy.base.errors import InputError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.lock import locked
from reno_dspy.base.rundir import LOCK
from reno_dspy.data.corrections import (
    FILE,
    Correction,
    Kept,
    key_of,
    merged,
    one_sentence,
    read_corrections,
)
from reno_dspy.service.accept import media_type

Model = TypeVar("Model", bound=BaseModel)


class Changes(BaseModel):
    """What a press on Save sends: references to keep, and texts of references to forget."""

    model_config = ConfigDict(extra="forbid")

    references: tuple[Correction, ...] = ()
    forget: tuple[str, ...] = ()


class CorrectionStore:
    """The corrections in `folder`; `open` makes one. Its methods may be called by several threads."""

    def __init__(self, folder: Path) -> None:
        """Read what is saved. Raises InputError as `read_corrections`."""
        self.folder = folder
        self._log = JsonlLog(folder / FILE)
        self._kept = read_corrections(folder)
        self._writing = threading.Lock()

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[Self]:
        """The store in `folder`, which is made if need be, locked for the length of the block.

        Raises InputError when another process has it open, it cannot be written, or its file is damaged.
        """
        with ExitStack() as stack:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                lock = locked(folder / LOCK, str(folder), "name another --corrections")
                stack.enter_context(lock)
            except OSError as error:
                raise InputError(
                    f"Cannot write {folder} ({error.strerror}). Name another --corrections."
                ) from error
            yield cls(folder)

    def all(self) -> list[Kept]:
        """What is saved, in the order in which references were first saved."""
        return list(self._kept.values())

    def apply(self, changes: Changes) -> None:
        """Keep and forget references. Once this returns they are on the disk, or OSError was raised.

        Forgetting writes the file anew without any line of these references.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        dated = [one.model_copy(update={"saved_at": now}) for one in changes.references]
        with self._writing:
            self._forget({key_of(text) for text in changes.forget} & set(self._kept))
            if dated:
                with self._log.appending() as out:
                    for one in dated:
                        out.write(one.model_dump(exclude_none=True))
                    out.sync()
            self._kept = merged(dated, self._kept)

    def _forget(self, keys: set[str]) -> None:
        if keys:
            self._log.replace(r for r in self._log.records() if key_of(r["text"]) not in keys)
            self._kept = {key: kept for key, kept in self._kept.items() if key not in keys}


def corrections_router(store: CorrectionStore | None) -> APIRouter:
    """The routes by which the page saves and finds corrections; without a `store` they answer 404."""
    router = APIRouter(prefix="/corrections", tags=["corrections"])

    @router.get("", summary="What is saved")
    def saved() -> dict[str, Any]:
        return {"references": [_shown(kept) for kept in _open(store).all()]}

    @router.post("", summary="Save corrections", dependencies=[Depends(json_only)])
    def save(changes: Annotated[Any, Body()]) -> dict[str, Any]:
        checked = read_body(Changes, changes)
        kept = _open(store)
        try:
            kept.apply(checked)
        except OSError as error:
            raise HTTPException(
                507, f"Not everything was saved: {error.strerror}. Save again."
            ) from error
        return {"saved": len(checked.references), "forgotten": len(checked.forget)}

    return router


def read_body(model: type[Model], body: Any) -> Model:
    """`body` as a `model`. Raises HTTPException 422 with one sentence."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise HTTPException(422, one_sentence(error)) from None


def json_only(request: Request) -> None:
    """Refuse a body that does not call itself JSON.

    A page of another site can make a browser send text to this machine, but JSON only if we allow it.
    """
    if media_type(request.headers.get("content-type", "")) != "application/json":
        raise HTTPException(415, "The body must be JSON, with `Content-Type: application/json`.")


def _open(store: CorrectionStore | None) -> CorrectionStore:
    if store is None:
        raise HTTPException(
            404, "Nothing is saved here: start with `reno serve --corrections DIR`."
        )
    return store


def _shown(kept: Kept) -> dict[str, Any]:
    return kept.last.model_dump() | {"split": kept.side}
