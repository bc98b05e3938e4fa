"""`reno annotate` on files as they come: any bytes, articles as PDF, two processes, full disks."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from lxml import etree

from reno_dspy.annotate.job import AnnotateConfig, annotate
from reno_dspy.cli.main import main
from reno_dspy.cli.references import references_of
from reno_dspy.jats.spans import ILLEGAL
from reno_dspy.systems.crf.model import Crf

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def reno(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Runs `reno annotate ... --system crf`; returns exit status and standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["reno", "annotate", *arguments, "--system", "crf"])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, capsys.readouterr().err

    return run


@pytest.fixture(scope="module")
def crf() -> Crf:
    return Crf()


PIECES = st.one_of(
    st.text(),
    st.sampled_from(
        ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r", "\t", "\ufeff", "\ufffe", "\x00", "]]>",
         "<b>&amp;", "&#0;", "\u202eقرم", "1. ", "[2] ", "2. ", "Ito K. Foxes. 2001;3:1-9.", "--"]
    ),
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=6).map("".join)
# Any text, lone surrogates included, and any bytes.
LINES = TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary()


@given(st.lists(LINES, min_size=1, max_size=6))
@example([b"1. Ito K.\x85Foxes", "2. Oe\u2028H. \x0b".encode(), b"\xff", b"x" * 5000, b" ", b"3. "])
@example(["1.\u3000Ito K. Foxes.".encode(), "2.\u00a0Oe H. Geese.".encode()])
@example(["(1) أيتو، ك. ثعالب. 2001.".encode(), b"(2) a\rb\r\n", b"(3) \xed\xa0\x80"])
@settings(max_examples=50, derandomize=True)
def test_any_lines_give_their_own_text_or_an_error_row(
    crf: Crf, jats: etree.DTD, tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    source = folder / "refs.txt"
    source.write_bytes(b"\n".join(lines).replace(b"\0", b"") + b"\n")
    text = source.read_bytes().decode("utf-8-sig", "surrogateescape")
    wanted = [line.strip() for line in text.split("\n") if line.strip()]
    assume(wanted and not text.startswith("%PDF-"))
    outs = {form: folder / f"refs.{form}" for form in ("jats", "jsonl", "csl")}
    for form, out in outs.items():
        config = AnnotateConfig.model_validate(
            {"input": str(source), "out": out, "format": form, "max_errors": 1}
        )
        with references_of(str(source), any_text=True) as (references, total):
            assert annotate(config, crf, references, total=total)[0] == total == len(wanted)
    rows = [json.loads(line) for line in outs["jsonl"].read_text(encoding="utf-8").splitlines()]
    assert [row["reference"] for row in rows] == wanted
    refs = etree.parse(outs["jats"]).getroot()
    assert jats.validate(refs), jats.error_log
    for row, shown in zip(rows, refs, strict=True):
        whole = "".join(shown.itertext())
        if row["error"] is None:
            assert "".join(etree.fromstring(row["annotation"]).itertext()) == row["reference"]
            assert whole == row["reference"]
        else:
            assert re.search("is not UTF-8|cannot stand in XML", row["error"])
            assert whole == ILLEGAL.sub("\ufffd", row["reference"])
            assert "not annotated: " in str(shown[-1])
    assert len(json.loads(outs["csl"].read_text(encoding="utf-8"))) == len(wanted)


@pytest.mark.parametrize(
    "name", ["pmc_PMC4575751", "pmc_PMC5376420", "scielo_rsp_56_85", "excite_41980"]
)
def test_a_two_column_article_becomes_a_valid_list(
    reno: Run, tmp_path: Path, shared: Path, jats: etree.DTD, name: str
) -> None:
    pdf = shared / "data" / "pairs" / f"{name}.pdf"
    code, said = reno(str(pdf), "--out", "refs.xml")
    assert code == 0, said
    root = etree.parse(tmp_path / "refs.xml").getroot()
    assert jats.validate(root), jats.error_log
    gold = etree.parse(pdf.with_suffix(".xml"))
    assert len(root) >= 0.9 * len(gold.findall(".//{*}ref"))
    assert [ref.get("id") for ref in root] == [f"ref{n}" for n in range(1, len(root) + 1)]
    labels = [re.sub(r"\D", "", ref.findtext("label", "")) for ref in root]
    numbered = gold.find(".//{*}ref/{*}label") is not None
    assert labels == [str(n) if numbered else "" for n in range(1, len(root) + 1)]
    surnames = {element.text for element in gold.findall(".//{*}ref//{*}surname")}
    found = [element.text for element in root.findall(".//surname")]
    assert sum(surname in surnames for surname in found) > 0.7 * len(found)


def test_a_pdf_or_a_jats_article_is_recognized_by_its_bytes(
    reno: Run, tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    article = corpus.parent / "scielo-en-01"
    found: dict[str, str] = {}
    for suffix in (".pdf", ".xml"):
        content = article.with_suffix(suffix).read_bytes()
        # Under a name that says nothing, and from a pipe.
        (tmp_path / "input").write_bytes(content)
        assert reno("input", "--out", f"file{suffix}.jsonl", "--format", "jsonl")[0] == 0
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert reno("-", "--out", f"pipe{suffix}.jsonl", "--format", "jsonl")[0] == 0
        found[suffix] = (tmp_path / f"file{suffix}.jsonl").read_text(encoding="utf-8")
        assert (tmp_path / f"pipe{suffix}.jsonl").read_text(encoding="utf-8") == found[suffix]
    assert min(text.count("\n") for text in found.values()) > 10


def test_an_article_of_tagged_references_alone_is_refused(reno: Run, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        "<article><back><ref-list><ref><element-citation><source>J</source></element-citation></ref>"
        "</ref-list></back></article>"
    )
    code, said = reno("a.xml", "--out", "x.xml")
    assert code == 2
    assert "annotated already" in said


PROSE = "The foxes of the northern lakes are few, and nobody has counted them since the flood.\n"


@pytest.mark.parametrize(
    "text",
    [PROSE * 6_000, "12 Moor Lane, Saltmarsh SM1 2XY\n" * 9_000 + "Ito K. Foxes. 2010.\n" * 1_000],
)
def test_a_text_that_is_no_list_of_references_is_refused(
    reno: Run, tmp_path: Path, text: str
) -> None:
    (tmp_path / "notes.txt").write_text(text, encoding="utf-8")
    code, said = reno("notes.txt", "--out", "refs.xml")
    assert code == 2
    assert "does not look like references" in " ".join(said.split())
    assert "--any-text" in said
    assert not (tmp_path / "refs.xml").exists()


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["Ito K. Foxes. J Fict Zool. 2010;12:3."] * 20 + ["Ito K. Fog, in press."] * 60, ()),
        (["王小明. 雾. 二〇一〇年."] * 60, ()),
        (["نوری ع. مه. ۱۳۹۹."] * 60, ()),
        ([PROSE.strip()] * 49, ()),
        ([PROSE.strip()] * 60, ("--any-text",)),
    ],
)
def test_lists_with_other_years_or_few_lines_are_annotated(
    reno: Run, tmp_path: Path, lines: list[str], options: tuple[str, ...]
) -> None:
    (tmp_path / "refs.txt").write_text("\n".join(lines), encoding="utf-8")
    code, said = reno("refs.txt", "--out", "refs.xml", *options)
    assert code == 0, said


def test_one_line_of_five_megabytes_is_an_error_row(reno: Run, tmp_path: Path) -> None:
    (tmp_path / "refs.txt").write_text("fog " * 1_250_000, encoding="utf-8")
    code, said = reno("refs.txt", "--out", "refs.jsonl")
    assert (code, "Annotated 0 of 1" in said) == (0, True)
    row = json.loads((tmp_path / "refs.jsonl").read_text(encoding="utf-8"))
    assert "4,999,999 characters are no reference" in row["error"]
