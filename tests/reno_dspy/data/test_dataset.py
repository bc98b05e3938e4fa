"""The data set contract: what can be read, what is written, what a digest covers."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import sha256_file
from reno_dspy.data import dataset as module
from reno_dspy.data.dataset import Row, load, save, splits_of

ROWS = [
    Row("10.5555/a", f"Ref {i}", f"<m><year>{2000 + i}</year></m>", "ore", id=str(i), has_pid=True)
    for i in range(6)
]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    save({"train": ROWS[:3], "dev": ROWS[3:4], "test": ROWS[4:]}, tmp_path / "d", "# Card\n", {})
    return tmp_path / "d"


def test_a_directory_is_read_by_split(built: Path) -> None:
    assert load(str(built), "test").rows == tuple(ROWS[4:])
    with pytest.raises(InputError, match="splits train, dev, test; choose one"):
        load(str(built))
    with pytest.raises(InputError, match="no split 'all'"):
        load(str(built), "all")
    assert load(str(built), "validation").rows == tuple(ROWS[3:4])


@pytest.mark.parametrize("data", [".", "..", "../d", "./"])
def test_a_data_set_has_the_name_of_its_directory(
    built: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    (built / "inside").mkdir()
    monkeypatch.chdir(built / "inside" if data == ".." else built)
    assert load(data, "test").ref().name == f"{built.name}-test"


def test_the_digest_is_computed_once(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(module, "digest_rows", lambda rows: calls.append(rows) or "d1")
    data = load(str(built), "test")
    assert (data.digest, data.ref().digest, data.digest) == ("d1", "d1", "d1")
    assert len(calls) == 1


def test_the_published_columns_come_first(built: Path) -> None:
    names = pq.read_schema(built / "data" / "test-00000-of-00001.parquet").names
    assert names[:4] == ["citing_article_doi", "plaintext", "xml", "source"]


def test_the_hub_library_reads_it(built: Path) -> None:
    import datasets

    found = datasets.load_dataset(str(built), cache_dir=str(built / "cache"))
    assert {name: len(rows) for name, rows in found.items()} == {"train": 3, "dev": 1, "test": 2}
    assert found["test"][0]["plaintext"] == "Ref 4"


def test_the_manifest_names_every_file(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    assert manifest["rows"] == {"train": 3, "dev": 1, "test": 2}
    assert all(sha256_file(built / name) == digest for name, digest in manifest["files"].items())


def test_saving_twice_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    splits = {"train": ROWS[:3], "dev": ROWS[3:4], "test": ROWS[4:]}
    save(splits, tmp_path / "again", "# Card\n", {})
    assert (tmp_path / "again" / "manifest.json").read_text() == (
        built / "manifest.json"
    ).read_text()


def test_a_split_that_is_gone_leaves_no_rows(built: Path) -> None:
    save({"train": ROWS[:3], "test": ROWS[3:]}, built, "# Card\n", {})
    with pytest.raises(InputError, match="no split 'dev'"):
        load(str(built), "dev")


def test_a_directory_without_a_manifest_is_not_trusted(built: Path) -> None:
    (built / "manifest.json").unlink()
    with pytest.raises(InputError, match="Was it built whole"):
        load(str(built), "test")


def test_files_of_every_kind_are_read(built: Path, tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"plaintext": r.plaintext, "xml": r.xml, "citing_article": "a", "more": 1})
        + "\n"
        for r in ROWS
    )
    (tmp_path / "r.jsonl").write_text(lines)
    (tmp_path / "r.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    plain, zipped = load(str(tmp_path / "r.jsonl")), load(str(tmp_path / "r.jsonl.gz"))
    assert plain.digest == zipped.digest
    assert plain.rows[0].cluster == "a"
    assert len(load(str(built / "data" / "train-00000-of-00001.parquet")).rows) == 3


PAIR = {"plaintext": "Ito & Sons; 2001\nx", "xml": "<m a=\"1\">Ito, K</m>", "has_pid": True,
        "similarity": 0.5, "citing_article_id": "7"}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "delimiter"), [("r.csv", ","), ("r.csv", ";"), ("r.tsv", "\t"), ("r.csv.gz", ",")]
)
def test_tables_are_read(name: str, delimiter: str, tmp_path: Path) -> None:
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, [*PAIR, "language"], delimiter=delimiter)
    table.writeheader()
    table.writerow(PAIR)
    data = text.getvalue().encode("utf-8-sig")  # as spreadsheets write it
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (row,) = load(str(tmp_path / name)).rows
    assert {key: getattr(row, key) for key in PAIR} == PAIR
    assert row.language is None
    assert load(str(tmp_path / name)).name == "r"


def test_json_lines_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps(PAIR) + "\r\n", encoding="utf-8-sig")
    assert load(str(tmp_path / "r.jsonl")).rows[0].xml == PAIR["xml"]


def test_what_save_to_disk_wrote_is_read(tmp_path: Path) -> None:
    import datasets

    one = datasets.Dataset.from_list([PAIR] * 3)
    one.save_to_disk(tmp_path / "one")
    datasets.DatasetDict(train=one, validation=one.select([1])).save_to_disk(tmp_path / "two")
    assert len(load(str(tmp_path / "one")).rows) == 3
    assert splits_of(str(tmp_path / "one")) == ()
    assert splits_of(str(tmp_path / "two")) == ("train", "dev")
    assert load(str(tmp_path / "two"), "dev").rows == load(str(tmp_path / "one")).rows[:1]


@pytest.mark.parametrize("folder", ["data", "."])
def test_a_directory_of_files_named_by_split_is_read(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    line = json.dumps(PAIR) + "\n"
    (tmp_path / folder / "train-00000-of-00002.jsonl").write_text(line)
    (tmp_path / folder / "train-00001-of-00002.jsonl").write_text(line)
    (tmp_path / folder / "Validation.jsonl").write_text(line)
    (tmp_path / "README.md").write_text("# A data set\n")
    assert splits_of(str(tmp_path)) == ("train", "dev")
    assert len(load(str(tmp_path), "train").rows) == 2
    with pytest.raises(InputError, match="splits train, dev; choose one"):
        load(str(tmp_path))


def test_rows_that_cannot_be_used_are_named_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad: list[dict[str, object]] = [
        {"xml": None},
        {"plaintext": 3},
        {"plaintext": " "},
        {"has_pid": "?"},
    ]
    rows = [PAIR, *(PAIR | one for one in bad), PAIR]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = str(tmp_path / "r.jsonl")
    loaded = load(data, with_text=True)
    assert (len(loaded.rows), loaded.left_out) == (2, 4)
    said = capsys.readouterr().err
    assert "4 of 6 rows that cannot be used: row 2 has no text in column `xml`" in said
    assert "row 4 has no plain text; and 1 more. --strict-data refuses" in said
    assert len(load(data).rows) == 3
    with pytest.raises(InputError, match=r"3 of 6 rows.*row 2.*row 3"):
        load(data, strict=True)


def test_limit_draws_by_seed_and_keeps_order(built: Path) -> None:
    rows = load(str(built), "train", limit=2, seed=3).rows
    assert rows == load(str(built), "train", limit=2, seed=3).rows
    assert [row.id for row in rows] == sorted(row.id or "" for row in rows)
    assert load(str(built), "train", limit=99).rows == tuple(ROWS[:3])


def test_a_digest_covers_text_annotation_and_order(tmp_path: Path) -> None:
    digests = set()
    for rows in ([ROWS[0], ROWS[1]], [ROWS[1], ROWS[0]], [ROWS[0]]):
        records = [{"plaintext": r.plaintext, "xml": r.xml} for r in rows]
        (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, records)))
        digests.add(load(str(tmp_path / "r.jsonl")).digest)
    assert len(digests) == 3


def test_articles_named_by_numbers_are_not_places_in_the_data(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = ['{"xml": "<a/>", "citing_article": 1}', '{"xml": "<a/>", "language": NaN}']
    file.write_text("\n".join(lines) + "\n")
    named, unnamed = load(str(file)).rows
    assert (named.cluster, unnamed.cluster, unnamed.language) == ("1", None, None)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.jsonl", None, "does not exist"),
        ("empty.jsonl", b"", "holds no rows"),
        ("bad.jsonl", b'{"xml": "<a/>"}\n{oops\n', "bad.jsonl:2 is not JSON"),
        ("list.jsonl", b"[1]\n", "list.jsonl:1 is not a JSON object"),
        ("noxml.jsonl", b'{"plaintext": "x"}\n', "row 1 has no text in column `xml` .* plaintext"),
        ("number.jsonl", b'{"plaintext": 3, "xml": "<a/>"}\n', "`plaintext` must be text"),
        ("ids.jsonl", b'{"xml": "<a/>", "citing_article": [1]}\n', r"article_id` .* not \[1\]"),
        ("flag.jsonl", b'{"xml": "<a/>", "has_pid": "yes"}\n', "`has_pid` must be true or false"),
        ("bytes.jsonl", b"\xff\xfe\n", "Cannot read"),
        ("cut.jsonl.gz", gzip.compress(b'{"xml": "<a/>"}\n')[:-4], "Cannot read"),
        ("not.parquet", b"nothing", "not a readable Parquet"),
        ("what.xlsx", b"a,b\n", "none of .jsonl, .jsonl.gz, .csv"),
        ("noxml.csv", b"plaintext,jats\nx,<a/>\n", "columns: plaintext, jats"),
        ("open.csv", b'plaintext,xml\nx,"<a/>\n', "not well-formed CSV"),
    ],
)
def test_bad_files_are_answered_plainly(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(str(tmp_path / name))
