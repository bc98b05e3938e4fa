"""The platforms' articles: from an index, an archive, or JATS files at hand, by addresses in YAML."""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Literal

from lxml import etree
from pydantic import Field, TypeAdapter, ValidationError

from reno_dspy.base.config import Config, read_yaml
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.files import digest
from reno_dspy.base.progress import say
from reno_dspy.fetch.download import Downloader, is_any
from reno_dspy.jats.article import parse_file
from reno_dspy.jats.citation import name_of, text_of

SHIPPED = Path(__file__).with_name("platforms.yaml")
# An archive may unpack to so many bytes a file, and to so many times its own size: PDFs hardly shrink, so
# that what unpacks to more is made to fill the disk.
_MAX_UNPACKED = 256 * 2**20
_MAX_RATIO = 100
# Bytes that every file system takes for a name, less a suffix.
_LONGEST_ID = 200
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError,
)  # fmt: skip
_SCIELO_PID = re.compile(r"S\d{4}-\d{3}[\dX]\d{13}")


class Index(Config):
    """A public list of addresses of JATS files."""

    kind: Literal["index"]
    index: str
    find: str
    replace: str


class Archive(Config):
    """One archive with all PDFs and JATS files."""

    kind: Literal["archive"]
    archive: str


class Jats(Config):
    """JATS files at hand, and a template of the PDF's address."""

    kind: Literal["jats"]
    pdf: str


Platform = Annotated[Index | Archive | Jats, Field(discriminator="kind")]


@dataclass(frozen=True)
class Item:
    """An article to fetch: addresses, or files that are here already.

    `problem` says why the PDF has no address.
    """

    id: str
    pdf: str | Path | None
    xml: str | Path
    problem: str | None = None


def read_platform(name: str, file: Path | None = None) -> Platform:
    """The platform `name` of a YAML file (the shipped one). Raises InputError."""
    path = file or SHIPPED
    known = read_yaml(path)
    if name not in known:
        raise InputError(f"No platform {name!r} in {path}; it has {', '.join(sorted(known))}.")
    try:
        adapter: TypeAdapter[Platform] = TypeAdapter(Platform)
        return adapter.validate_python(known[name])
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"{path}, platform {name}, {where}: {problem['msg']}.") from None


def items_of(
    platform: Platform, out: Path, jats: Path | None, downloader: Downloader
) -> Iterator[Item]:
    """The platform's articles, in a fixed order. Raises InputError or JobError."""
    if isinstance(platform, Index):
        yield from _from_index(platform, out, downloader)
    elif isinstance(platform, Archive):
        yield from _from_archive(platform, out, downloader)
    else:
        yield from _from_jats(platform, jats)


def _from_index(platform: Index, out: Path, downloader: Downloader) -> Iterator[Item]:
    path = _get(platform.index, out / "index.txt", downloader)
    text = path.read_text(encoding="utf-8", errors="replace")
    ids = _Ids()
    for url in _addresses(text):
        try:
            if re.search(platform.find, url):
                yield Item(ids.of(url), re.sub(platform.find, platform.replace, url), url)
        except re.error as error:
            raise InputError(
                f"The platform's `find` {platform.find!r} and `replace` {platform.replace!r} do not "
                f"work as a regular expression: {error}."
            ) from error


def _addresses(text: str) -> list[str]:
    """The addresses in a text, in order, each once: `http` and `https` of one are the same article."""
    found: dict[str, str] = {}
    for url in re.findall(r"https?://[^\s<>\"']+", text):
        key = url.partition("://")[2]
        if key not in found or url.startswith("https"):
            found[key] = url
    return list(found.values())


class _Ids:
    """Ids of articles that are file names, and no two alike (not in upper and lower case either)."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The id for an address or a path, the same each time."""
        slug = _slug(name)
        if self._taken.setdefault(slug.lower(), name) == name:
            return slug
        return f"{slug}-{digest(name, 8)}"


def _from_archive(platform: Archive, out: Path, downloader: Downloader) -> Iterator[Item]:
    if not platform.archive:
        raise InputError(
            f"The address of the archive is not known: write it into a copy of {SHIPPED.name} and "
            "name that by --platforms."
        )
    archive = _get(platform.archive, out / PurePosixPath(platform.archive).name, downloader)
    try:
        files = _unpack_all(archive, out / "unpacked")
    except _DAMAGED as error:
        raise JobError(
            f"{archive} is damaged ({error}). Delete it; the same command fetches it again."
        ) from error
    for key, pair in sorted(files.items()):
        if len(pair) == 2:
            yield Item(key, pair[".pdf"], pair[".xml"])


def _unpack_all(archive: Path, folder: Path) -> dict[str, dict[str, Path]]:
    """The archive's PDF and XML files in `folder`, by article and suffix."""
    files: dict[str, dict[str, Path]] = {}
    ids = _Ids()
    room = _MAX_RATIO * archive.stat().st_size + _MAX_UNPACKED
    for name, stream in _members(archive):
        member = PurePosixPath(name)
        if member.suffix.lower() not in (".pdf", ".xml"):
            continue
        # The member's own path is never used as one: it may point outside.
        key = ids.of(str(member.with_suffix("")))
        target = folder / f"{key}{member.suffix.lower()}"
        _unpack(stream, target)
        room -= target.stat().st_size
        if room < 0:
            raise JobError(
                f"{archive} unpacks to over {_MAX_RATIO} times its size, which no PDFs do."
            )
        files.setdefault(key, {})[member.suffix.lower()] = target
    return files


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for name in sorted(zipped.namelist()):
                try:
                    stream = zipped.open(name)
                except (RuntimeError, NotImplementedError) as error:
                    # Encrypted, or packed in a way that Python has no code for.
                    say(f"{archive}: {name} is left out ({error}).")
                    continue
                with stream:
                    yield name, stream
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tarred:
            for member in sorted(tarred.getmembers(), key=lambda member: member.name):
                stream_of = tarred.extractfile(member) if member.isfile() else None
                if stream_of is not None:
                    yield member.name, stream_of
    else:
        raise JobError(f"{archive} is neither a zip nor a tar archive.")


def _unpack(stream: IO[bytes], target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with open(part, "wb") as file:
        while chunk := stream.read(2**20):
            file.write(chunk)
            if file.tell() > _MAX_UNPACKED:
                raise JobError(f"A file of the archive unpacks to over {_MAX_UNPACKED:,} bytes.")
    shutil.move(part, target)


def _from_jats(platform: Jats, jats: Path | None) -> Iterator[Item]:
    if jats is None or not jats.is_dir():
        raise InputError("This platform's JATS files must be at hand: name their folder by --jats.")
    files = sorted(jats.glob("*.xml"))
    if not files:
        raise InputError(f"{jats} holds no .xml file.")
    for path in files:
        values = _values(path)
        try:
            yield Item(path.stem, platform.pdf.format_map(values), path)
        except KeyError as error:
            yield Item(path.stem, None, path, f"the JATS has no {error} for the PDF's address")
        except (ValueError, AttributeError, IndexError) as error:
            raise InputError(
                f"The platform's `pdf` {platform.pdf!r} is no template of an address: {error}."
            ) from error


def _values(path: Path) -> dict[str, str]:
    """What a JATS file says of itself, by the names that templates use."""
    root = parse_file(path)
    values: dict[str, str] = {
        "language": root.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    }
    for element in root.iter("{*}article-id", "{*}journal-id"):
        _add_id(values, element)
    meta = next(root.iter("{*}article-meta"), root)
    for name, key in (("volume", "volume"), ("issue", "issue"), ("fpage", "first_page")):
        found = meta.find(f"{{*}}{name}")
        if found is not None:
            values[key] = text_of(found)
    return {key: value for key, value in values.items() if value}


def _add_id(values: dict[str, str], element: etree._Element) -> None:
    text = text_of(element)
    if name_of(element) == "journal-id":
        values.setdefault("journal_id", text)
        return
    kind = (element.get("pub-id-type") or "").lower()
    if kind == "doi":
        values["doi"], values["doi_suffix"] = text, text.partition("/")[2]
    else:
        values.setdefault(f"id_{kind.removesuffix('-id').replace('-', '_')}", text)
        if _SCIELO_PID.fullmatch(text):
            values["scielo_pid"] = text


def _get(url: str, target: Path, downloader: Downloader) -> Path:
    outcome = downloader.fetch(url, target, is_any)
    if outcome.error is not None:
        raise JobError(f"Cannot fetch {url}: {outcome.error}. The same command tries again.")
    return target


def _slug(name: str) -> str:
    """A file name from an address or a path: its last parts, letters and digits."""
    path = re.sub(r"^https?://[^/]+/", "", name)
    slug = re.sub(r"[^\w.-]+", "-", path.removesuffix("/xml").removesuffix(".xml")).strip("-.")
    if len(slug.encode()) <= _LONGEST_ID:
        return slug
    return f"{slug.encode()[: _LONGEST_ID - 9].decode(errors='ignore')}-{digest(name, 8)}"
