"""Pages as odd PDFs have them: slanted, turned, numbered by line, or broken."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from reno_dspy.build.pdf.convert import Converter
from reno_dspy.build.pdf.text import text_of_pdf

Draw = Callable[[Canvas], None]
WORDS = ["Commun Dent Oral Epidemiol", "Aust Dent J 1996", "J Can Dent Assoc"]


def text(draw: Draw) -> str:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(612, 792))
    draw(canvas)
    canvas.save()
    file.seek(0)
    return text_of_pdf(file)


def written(canvas: Canvas, lines: list[str], left: float = 60, top: float = 700) -> None:
    for number, line in enumerate(lines):
        canvas.drawString(left, top - 14 * number, line)


@pytest.mark.parametrize("degrees", [11, 19])
def test_lines_that_begin_in_a_synthetic_italic_are_kept(degrees: int) -> None:
    def draw(canvas: Canvas) -> None:
        written(canvas, WORDS)
        canvas.saveState()
        canvas.translate(60, 600)
        canvas.transform(1, 0, math.tan(math.radians(degrees)), 1, 0, 0)
        canvas.drawString(0, 0, "Slanted from its first letter")
        canvas.restoreState()
        canvas.rotate(90)
        canvas.drawString(300, -30, "TITLE ALONG THE MARGIN")

    lines = text(draw).split("\n")
    assert "Slanted from its first letter" in [line.strip() for line in lines]
    assert not any("MARGIN" in line for line in lines)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_turned_content_is_read_as_it_stands(degrees: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(306, 396)
        canvas.rotate(degrees)
        written(canvas, WORDS, left=-200, top=100)

    assert [line.strip() for line in text(draw).split("\n") if line] == WORDS


@pytest.mark.parametrize("degrees", [90, 180, 270])
@pytest.mark.parametrize("upright", [True, False])
def test_a_page_with_a_rotation_of_its_own_is_read(degrees: int, upright: bool) -> None:
    """/Rotate turns the page for viewers; text that was turned against it stands upright there."""

    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(degrees)
        canvas.translate(306, 396)
        canvas.rotate(degrees if upright else 0)
        written(canvas, WORDS, left=-200, top=100)

    assert [line.strip() for line in text(draw).split("\n") if line] == WORDS


@pytest.mark.parametrize("gap", [6, 60])
def test_line_numbers_of_a_manuscript_are_taken_off(gap: int) -> None:
    body = [f"Line {i} of this text tells of foxes and of fog." for i in range(50)]
    body[40:] = ["References", *(f"Veldt A. On glass bees {i}. J Fict. 199{i}." for i in range(9))]

    def draw(canvas: Canvas) -> None:
        for page in range(2):
            for number, line in enumerate(body[25 * page : 25 * page + 25]):
                canvas.drawRightString(60, 700 - 14 * number, str(25 * page + number + 1))
                canvas.drawString(60 + gap, 700 - 14 * number, line)
            canvas.showPage()

    lines = [line.strip() for line in text(draw).replace("\f", "").split("\n") if line.strip()]
    assert lines == body


def test_a_list_with_a_reference_a_line_keeps_its_labels() -> None:
    lines = [f"{i} Veldt A. On glass bees {i}. J Fict. 1999." for i in range(1, 36)]
    assert [line.strip() for line in text(lambda c: written(c, lines)).split("\n")] == lines


def test_labels_in_parentheses_that_are_drawn_apart_are_put_back() -> None:
    def draw(canvas: Canvas) -> None:
        written(canvas, ["(1)", "(2)"], left=60)
        written(canvas, ["Veldt A. Fog. 1999.", "Marsh B. Moss. 2001."], left=80)

    assert [line.strip() for line in text(draw).split("\n") if line] == [
        "(1) Veldt A. Fog. 1999.",
        "(2) Marsh B. Moss. 2001.",
    ]


def test_a_page_that_cannot_be_loaded_does_not_lose_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = pypdfium2.PdfDocument.__getitem__

    def broken(document: pypdfium2.PdfDocument, number: int) -> pypdfium2.PdfPage:
        if number == 0:
            raise pypdfium2.PdfiumError("Failed to load page.")
        return load(document, number)

    monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", broken)

    def draw(canvas: Canvas) -> None:
        written(canvas, ["Lost."])
        canvas.showPage()
        written(canvas, ["Kept."])

    assert text(draw).strip("\f\n") == "Kept."


def test_a_damaged_pdf_is_explained_in_a_few_words(tmp_path: Path) -> None:
    path = tmp_path / "damaged.pdf"
    path.write_bytes(b"%PDF-1.7\nnothing more")
    with Converter(cache=tmp_path / "cache") as converter:
        error = converter.convert(path).error or ""
    assert error.startswith("damaged PDF (")
    assert "attempts" not in error
