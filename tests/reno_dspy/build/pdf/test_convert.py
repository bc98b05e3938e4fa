"""PDF to text: reading order, layout, and PDFs that are hostile, damaged or none at all."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from reno_dspy.base.errors import JobError
from reno_dspy.build.pdf.convert import Converter
from reno_dspy.build.pdf.reader import markitdown
from reno_dspy.build.pdf.text import INDENT, PAGE_BREAK, text_of_pdf

Draw = Callable[[Canvas], None]


@pytest.fixture
def make_pdf(tmp_path: Path) -> Callable[[Draw], Path]:
    def make(draw: Draw) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pdf"
        canvas = Canvas(str(path), pagesize=(595, 842))
        draw(canvas)
        canvas.save()
        return path

    return make


@pytest.fixture(scope="module")
def converter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converter]:
    cache = tmp_path_factory.mktemp("cache")
    with Converter(timeout_s=120, memory_mb=1024, cache=cache) as ours:
        yield ours


def lines(canvas: Canvas, x: float, y: float, texts: list[str], leading: float = 12) -> None:
    for number, text in enumerate(texts):
        canvas.drawString(x, y - number * leading, text)


def read(path: Path) -> str:
    with open(path, "rb") as file:
        return text_of_pdf(file)


def test_columns_are_read_one_after_the_other(make_pdf: Callable[[Draw], Path]) -> None:
    left = [f"left line {n} of some length" for n in range(8)]
    right = [f"right line {n} of some length" for n in range(8)]

    def draw(canvas: Canvas) -> None:
        lines(canvas, 320, 700, right)
        lines(canvas, 60, 700, left)

    text = read(make_pdf(draw))
    assert [line.strip() for line in text.split("\n") if line.strip()] == left + right


def test_paragraphs_indents_and_pages_are_kept(make_pdf: Callable[[Draw], Path]) -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, 60, 700, ["Lumen, H. (2014). Lanterns", "Orrery, T. (2015). Clocks"], 24)
        lines(canvas, 75, 688, ["and memory. Annals."])
        lines(canvas, 75, 664, ["of the north."])
        canvas.showPage()
        lines(canvas, 60, 700, ["Next page"])

    text = read(make_pdf(draw))
    assert "Lumen, H. (2014). Lanterns" in text.split("\n")
    assert f"{PAGE_BREAK}Next page" in text.split("\n")
    # Drawn out of order on purpose: each stretch keeps its own lines.
    assert "of the north." in text


def test_hanging_indents_are_marked(make_pdf: Callable[[Draw], Path]) -> None:
    def draw(canvas: Canvas) -> None:
        for number, (x, text) in enumerate(
            [(60, "Lumen, H. (2014). Lanterns and"), (80, "memory. Annals of Folklore."),
             (60, "Orrery, T. (2015). Tidal clocks of"), (80, "the north. Review of Optics.")]
        ):  # fmt: skip
            canvas.drawString(x, 700 - 12 * number, text)

    assert read(make_pdf(draw)).split("\n") == [
        "Lumen, H. (2014). Lanterns and",
        f"{INDENT}memory. Annals of Folklore.",
        "Orrery, T. (2015). Tidal clocks of",
        f"{INDENT}the north. Review of Optics.",
    ]


def test_numbers_drawn_apart_go_to_their_lines(make_pdf: Callable[[Draw], Path]) -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, 80, 700, ["Lumen H. Lanterns.", "Orrery T. Clocks."])
        lines(canvas, 60, 700, ["1.", "2."])

    assert read(make_pdf(draw)).split("\n") == ["1. Lumen H. Lanterns.", "2. Orrery T. Clocks."]


def test_titles_along_the_margin_are_left_out(make_pdf: Callable[[Draw], Path]) -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, 60, 700, ["One line.", "Another line.", "A third line."])
        canvas.rotate(90)
        canvas.drawString(300, -30, "TITLE ALONG THE MARGIN")

    assert read(make_pdf(draw)).split("\n") == ["One line.", "Another line.", "A third line."]


def test_markitdown_uses_our_converter(make_pdf: Callable[[Draw], Path]) -> None:
    path = make_pdf(lambda canvas: lines(canvas, 60, 700, ["Through its interface."]))
    assert markitdown().convert(str(path)).markdown == "Through its interface."


def test_what_is_wrong_with_a_pdf_is_its_error(
    converter: Converter, make_pdf: Callable[[Draw], Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.pdf"
    page.write_text("<html>Not found</html>")
    damaged = tmp_path / "damaged.pdf"
    damaged.write_bytes(b"%PDF-1.7\nnothing more")
    empty = make_pdf(lambda canvas: canvas.rect(10, 10, 50, 50))
    good = make_pdf(lambda canvas: lines(canvas, 60, 700, ["Still working."]))
    documents = [converter.convert(p) for p in (page, damaged, empty, tmp_path / "none.pdf", good)]
    assert [document.error for document in documents[:1]] == ["not a PDF (no %PDF- at its start)"]
    assert "damaged" in (documents[1].error or "")
    assert "no text in it" in (documents[2].error or "")
    assert "cannot read" in (documents[3].error or "")
    assert (documents[4].markdown, documents[4].error) == ("Still working.", None)


def test_a_result_is_kept_under_the_content(
    make_pdf: Callable[[Draw], Path], tmp_path: Path
) -> None:
    path, cache = make_pdf(lambda c: lines(c, 60, 700, ["Once only."])), tmp_path / "cache"
    with Converter(cache=cache) as converter:
        first = converter.convert(path)
    moved = path.rename(tmp_path / "moved.pdf")
    with Converter(timeout_s=0, cache=cache) as no_time_left:
        assert no_time_left.convert(moved) == first


def bomb(path: Path, megabytes: int) -> Path:
    """A PDF of one page whose content stream unpacks to so many megabytes of blanks."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * 2**20) for _ in range(megabytes)) + packer.flush()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed),
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, value)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    path.write_bytes(
        body + b"xref\n0 5\n0000000000 65535 f \n" + table
        + b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(body)
    )  # fmt: skip
    return path


def test_a_document_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = bomb(tmp_path / "slow.pdf", 50)
    with Converter(timeout_s=0, cache=tmp_path / "cache") as converter:
        assert converter.convert(path).error == "converting took more than 0 s"


@pytest.mark.slow
def test_a_bomb_costs_one_row(
    converter: Converter, make_pdf: Callable[[Draw], Path], tmp_path: Path
) -> None:
    good = make_pdf(lambda canvas: lines(canvas, 60, 700, ["After the bomb."]))
    found = [converter.convert(p) for p in (bomb(tmp_path / "bomb.pdf", 900), good)]
    assert "memory limit" in (found[0].error or "") or "took more than" in (found[0].error or "")
    assert found[1].markdown == "After the bomb."


def test_an_encrypted_pdf_says_so(converter: Converter, tmp_path: Path) -> None:
    path = tmp_path / "locked.pdf"
    canvas = Canvas(str(path), encrypt="secret")
    canvas.drawString(60, 700, "Not for you.")
    canvas.save()
    assert "it needs a password" in (converter.convert(path).error or "")


def test_a_cache_that_cannot_be_written_is_not_the_pdfs_fault(
    make_pdf: Callable[[Draw], Path], tmp_path: Path
) -> None:
    path = make_pdf(lambda canvas: lines(canvas, 60, 700, ["Fine."]))
    (tmp_path / "cache").write_text("a file where the folder should be")
    with (
        Converter(cache=tmp_path / "cache") as converter,
        pytest.raises(JobError, match=r"RENO_CACHE"),
    ):
        converter.convert(path)
