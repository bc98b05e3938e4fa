"""AnyStyle through its command line, where that is installed.

gem install anystyle-cli
reno evaluate --system anystyle --data DATA
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from reno_dspy.base.errors import InputError
from reno_dspy.jats.elements import type_named
from reno_dspy.jats.text import collapse
from reno_dspy.systems import Completion
from reno_dspy.systems.assembly import Identifier, Person, assemble, page_range
from reno_dspy.systems.batches import Annotated, AnnotatingFailed, complete_batch

if TYPE_CHECKING:
    from reno_dspy.systems.options import SystemOptions

Item = Mapping[str, Any]

# AnyStyle's types (of CSL) whose `title` is that of a part, not of the whole.
_PARTS = frozenset({"article-journal", "article-magazine", "article-newspaper", "paper-conference"})


class AnyStyle:
    """AnyStyle's `parse` command as a system: one process for each batch.

    Most of the time of a small batch is the start of the process.
    """

    name = "anystyle"
    batch_size = 200
    concurrency = 1

    def __init__(self, command: str = "anystyle", *, timeout_s: float = 60.0) -> None:
        """Raises InputError when `command` is not installed."""
        found = shutil.which(command)
        if found is None:
            raise InputError(
                f"The command {command!r} is not installed. Install it with `gem install anystyle-cli`."
            )
        self._command = found
        self._timeout_s = timeout_s

    @classmethod
    def from_options(cls, _options: SystemOptions, _log: Path) -> Self:
        """The command `anystyle`, which takes no options."""
        return cls()

    def identity(self) -> Mapping[str, str]:
        """The version of the command."""
        return {"model": self._version}

    @cached_property
    def _version(self) -> str:
        return collapse(self._run("--version"))[:80]

    async def start(self) -> None:
        """Nothing is left to load: every batch starts a process of its own."""

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references; what AnyStyle cannot parse is an error row."""
        return await asyncio.to_thread(complete_batch, self._annotations, references)

    def _annotations(self, references: Sequence[str]) -> list[Annotated]:
        """The annotations of all `references`. Raises AnnotatingFailed."""
        if not references:
            return []
        try:
            return [Annotated(to_jats(item)) for item in self._parse(references)]
        except subprocess.CalledProcessError as error:
            raise AnnotatingFailed(f"AnyStyle: {error} {error.stderr}"[:300]) from error
        except subprocess.TimeoutExpired:
            raise AnnotatingFailed(f"AnyStyle: no answer in {self._timeout_s:g} s") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise AnnotatingFailed(f"AnyStyle: {error}"[:300]) from error

    def _parse(self, references: Sequence[str]) -> list[Item]:
        """One item a reference. Raises ValueError when the output is not that."""
        lines = "".join(collapse(reference) + "\n" for reference in references)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "references.txt"
            file.write_text(lines, encoding="utf-8")
            items = json.loads(self._run("--stdout", "-f", "json", "parse", str(file)))
        if not isinstance(items, list) or len(items) != len(references):
            count = len(items) if isinstance(items, list) else "no list of"
            raise ValueError(f"{count} answers to {len(references)} references")
        return items

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._command, *arguments],
            capture_output=True,
            check=True,
            text=True,
            encoding="utf-8",
            timeout=self._timeout_s,
        )
        return done.stdout


def to_jats(item: Item) -> str:
    """The `mixed-citation` of one item of AnyStyle's JSON. Raises ValueError or TypeError."""
    kind = _text(item, "type")
    title, container = _text(item, "title"), _text(item, "container-title")
    part = bool(container) or kind in _PARTS or kind is None
    name = "chapter-title" if kind == "chapter" else "article-title"
    fields = [
        (name, title if part else None),
        ("source", container if part else title),
        ("series", _text(item, "collection-title")),
        ("year", _year(_text(item, "date"))),
        ("volume", _text(item, "volume")),
        ("issue", _text(item, "issue")),
        *page_range(_text(item, "pages")),
        ("edition", _text(item, "edition")),
        ("publisher-name", _text(item, "publisher")),
        ("publisher-loc", _text(item, "location")),
        ("uri", _text(item, "url")),
    ]
    identifiers = [Identifier(name, _text(item, name) or "") for name in ("doi", "pmid", "isbn")]
    authors, editors = _people(item.get("author")), _people(item.get("editor"))
    return assemble(authors, editors, fields, identifiers, type_named(kind))


def _text(item: Item, name: str) -> str | None:
    """A value; AnyStyle gives a list of its parts where something interrupts it."""
    value = item.get(name)
    if value is None:
        return None
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _people(value: Any) -> list[Person]:
    people = []
    for name in value or ():
        surname = " ".join(filter(None, (name.get("particle"), name.get("family"))))
        whole = name.get("literal")
        people.append(Person(surname, name.get("given"), name.get("suffix"), whole))
    return people


def _year(date: str | None) -> str | None:
    found = re.search(r"\d{4}", date or "")
    return found.group() if found else date
