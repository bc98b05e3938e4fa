"""A corpus on disk: a TSV manifest, or a folder of `NAME.pdf` + `NAME.xml`."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.progress import say

NAME = "corpus.tsv"
REQUIRED = ("id", "pdf", "xml")
COLUMNS = (*REQUIRED, "source", "doi")
_JATS = frozenset({".xml", ".nxml", ".jats"})
_PDF_MAGIC = b"%PDF-"
# The PDF standard (ISO 32000, annex H, note 13) lets the header stand within the first 1,024 bytes.
_MAGIC_WITHIN = 1024


@dataclass(frozen=True)
class Entry:
    """One article: its id, its two files, the platform it is from, and its DOI where known."""

    id: str
    pdf: Path
    xml: Path
    source: str
    doi: str | None = None


def is_pdf(head: bytes) -> bool:
    """Whether a file that begins with `head` is a PDF."""
    return _PDF_MAGIC in head[:_MAGIC_WITHIN]


def looks_like_pdf(path: Path) -> bool:
    """Whether the file starts as a PDF does, whatever its name says."""
    with open(path, "rb") as file:
        return is_pdf(file.read(_MAGIC_WITHIN))


def read_corpus(path: Path, source: str | None = None) -> list[Entry]:
    """The articles of a corpus, in the manifest's order (of a folder: by name).

    `path` is a manifest (columns `id pdf xml`, and `source`, `doi` where known; file names are
    relative to it), a folder that holds one as `corpus.tsv`, or a folder of pairs. `source` stands
    where the manifest names no platform. Raises InputError naming the missing file, column or pair.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist; --corpus takes a TSV manifest or a folder.")
    manifest = path / NAME if path.is_dir() else path
    if manifest.is_file():
        entries = _read_manifest(manifest, source or "unknown")
    else:
        entries = _read_folder(path, source or "unknown")
    _check_unique(entries, path)
    _check_files(entries, path)
    return entries


def _read_manifest(path: Path, source: str) -> list[Entry]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t")
            columns = reader.fieldnames or []
            records = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"Cannot read the manifest {path}: {error}.") from error
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise InputError(
            f"{path} has no column {', '.join(missing)}. A manifest is tab-separated with the "
            f"columns {' '.join(COLUMNS)}; found: {', '.join(columns) or 'nothing'}."
        )
    if not records:
        raise InputError(f"{path} lists no article.")
    return [_entry(record, path, line, source) for line, record in enumerate(records, start=2)]


def _entry(record: dict[str, str | None], path: Path, line: int, source: str) -> Entry:
    empty = [name for name in REQUIRED if not (record[name] or "").strip()]
    if empty:
        raise InputError(f"{path}, line {line}: no value in column {', '.join(empty)}.")
    values = {name: (record.get(name) or "").strip() for name in COLUMNS}
    return Entry(
        values["id"],
        path.parent / values["pdf"],
        path.parent / values["xml"],
        values["source"] or source,
        values["doi"] or None,
    )


def _read_folder(path: Path, source: str) -> list[Entry]:
    """Pairs by name. What PMC's packages hold counts too (`.nxml`), and so do names in capitals."""
    files = sorted(file for file in path.iterdir() if not file.name.startswith("._"))
    jats = {file.stem: file for file in files if file.suffix.lower() in _JATS}
    pdfs = [file for file in files if file.suffix.lower() == ".pdf"]
    entries = [Entry(pdf.stem, pdf, jats[pdf.stem], source) for pdf in pdfs if pdf.stem in jats]
    if not entries:
        raise InputError(
            f"{path} holds no article: neither {NAME} nor any NAME.pdf with NAME.xml (.nxml, .jats) "
            "beside it."
        )
    alone = len(pdfs) + len(jats) - 2 * len(entries)
    if alone:
        say(f"{path}: {alone} files have no partner of the same name and are left out.")
    return entries


def _check_unique(entries: list[Entry], path: Path) -> None:
    twice = [name for name, count in Counter(entry.id for entry in entries).items() if count > 1]
    if twice:
        raise InputError(f"{path}: the id {twice[0]!r} stands for more than one article.")


def _check_files(entries: list[Entry], path: Path) -> None:
    files = [file for entry in entries for file in (entry.pdf, entry.xml)]
    missing = [file for file in files if not file.is_file()]
    if missing:
        shown = ", ".join(str(file) for file in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise InputError(f"{path} names files that are not there: {shown}{more}.")
