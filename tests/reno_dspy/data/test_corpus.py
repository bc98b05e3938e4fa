"""Corpora on disk: manifests and folders, and what is said of a wrong one."""

from pathlib import Path

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.data.corpus import read_corpus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b", "a"):
        (tmp_path / f"{name}.pdf").write_bytes(b"%PDF-1.4")
        (tmp_path / f"{name}.xml").write_text("<article/>")
    (tmp_path / "alone.pdf").write_bytes(b"%PDF-1.4")
    return tmp_path


def test_a_folder_of_pairs(folder: Path) -> None:
    entries = read_corpus(folder, source="pkp")
    assert [(e.id, e.pdf.name, e.xml.name, e.source, e.doi) for e in entries] == [
        ("a", "a.pdf", "a.xml", "pkp", None),
        ("b", "b.pdf", "b.xml", "pkp", None),
    ]


def test_a_manifest(folder: Path) -> None:
    manifest = folder / "corpus.tsv"
    manifest.write_text(
        "id\tpdf\txml\tsource\tdoi\nx\tb.pdf\tb.xml\tore\t10.5555/1\ny\ta.pdf\ta.xml\t\t\n"
    )
    entries = read_corpus(folder, source="pkp")
    assert entries == read_corpus(manifest, source="pkp")
    assert [(e.id, e.source, e.doi) for e in entries] == [
        ("x", "ore", "10.5555/1"),
        ("y", "pkp", None),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\tpdf\na\ta.pdf\n", "no column xml"),
        ("", "no column id, pdf, xml"),
        ("id\tpdf\txml\n", "lists no article"),
        ("id\tpdf\txml\na\ta.pdf\t\n", "line 2: no value in column xml"),
        ("id\tpdf\txml\na\ta.pdf\n", "line 2: no value in column xml"),
        ("id\tpdf\txml\na\tnone.pdf\ta.xml\n", "none.pdf"),
        ("id\tpdf\txml\na\ta.pdf\ta.xml\na\tb.pdf\tb.xml\n", "more than one article"),
    ],
)
def test_a_wrong_manifest_is_named(folder: Path, text: str, message: str) -> None:
    manifest = folder / "corpus.tsv"
    manifest.write_text(text)
    with pytest.raises(InputError, match=message):
        read_corpus(manifest)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_corpus(tmp_path / "none")
    with pytest.raises(InputError, match="holds no article"):
        read_corpus(tmp_path)
    (tmp_path / "binary.tsv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="Cannot read"):
        read_corpus(tmp_path / "binary.tsv")


def test_a_folder_takes_the_names_that_publishers_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.PDF", "a.nxml", "b.pdf", "b.jats", "c.pdf", "._a.pdf", "._a.xml", "d.xml"):
        (tmp_path / name).write_bytes(b"%PDF-")
    found = read_corpus(tmp_path)
    assert [(entry.id, entry.pdf.name, entry.xml.name) for entry in found] == [
        ("a", "a.PDF", "a.nxml"),
        ("b", "b.pdf", "b.jats"),
    ]
    assert "2 files have no partner" in capsys.readouterr().err
