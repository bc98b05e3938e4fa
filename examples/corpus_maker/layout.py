"""Prints an article as PDF: one or two columns, running heads, hyphenation, justified text.

Base-14 Times (nothing embedded), so all text must fit in cp1252; reportlab's invariant mode makes
the bytes depend on the article only.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab import rl_config
from reportlab.lib.enums import TA_JUSTIFY, TA_LEFT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    NextPageTemplate,
    PageTemplate,
    Paragraph,
)

from .article import END, SUPER, Article, Reference

WIDTH, HEIGHT = A4
MARGIN, GUTTER = 20 * mm, 7 * mm
HEAD, FOOT = HEIGHT - 13 * mm, 11 * mm
TOP, BOTTOM = HEIGHT - 20 * mm, 19 * mm
DICTIONARY = {"en": "en_GB", "pt": "pt_BR", "es": "es", "fr": "fr", "de": "de_DE"}


def _style(article: Article, size: float, **changes: Any) -> ParagraphStyle:
    base: dict[str, Any] = {
        "fontName": "Times-Roman", "fontSize": size, "leading": size * 1.2, "alignment": TA_JUSTIFY,
        "hyphenationLang": DICTIONARY[article.lang], "hyphenationMinWordLength": 6,
        "embeddedHyphenation": 1, "uriWasteReduce": 0.3, "spaceAfter": size * 0.35,
    }  # fmt: skip
    return ParagraphStyle("text", **{**base, **changes})


def _markup(text: str) -> str:
    return escape(text).replace(SUPER, "<super>").replace(END, "</super>")


def _title(article: Article) -> list[Flowable]:
    left = {"alignment": TA_LEFT, "hyphenationLang": ""}
    terms = article.terms
    names = ", ".join(f"{p.given} {p.surname}" for p in article.authors)
    abstract = " ".join(article.abstract)
    small = _style(article, 9)
    head = _style(article, 16, fontName="Times-Bold", spaceAfter=7, **left)
    flow = [
        Paragraph(escape(article.title), head),
        Paragraph(escape(names), _style(article, 11, spaceAfter=2, **left)),
        Paragraph(
            f"<i>{escape(article.affiliation)}</i>", _style(article, 9, spaceAfter=7, **left)
        ),
        Paragraph(f"<b>{terms.abstract}.</b> {escape(abstract)}", small),
        Paragraph(f"<b>{terms.keywords}:</b> {escape(article.keywords)}", small),
    ]
    if article.doi:
        flow.append(Paragraph(f"DOI: {escape(article.doi)}", _style(article, 8, **left)))
    if article.dates:
        flow.append(Paragraph(escape(article.dates), _style(article, 8, spaceAfter=8, **left)))
    return flow


def _reference(number: int, reference: Reference, article: Article) -> Paragraph:
    size = 8.5 if article.columns == 2 else 9.5
    indent = 16 if article.numbered else 12
    style = _style(article, size, leftIndent=indent, firstLineIndent=-indent, spaceAfter=2.5)
    faces = {"": "{}", "i": "<i>{}</i>", "b": "<b>{}</b>"}
    body = "".join(faces[token.face].format(escape(token.text)) for token in reference.tokens)
    label = f"{number}. " if article.numbered else ""
    return Paragraph(label + body.strip(), style)


def _story(article: Article) -> list[Flowable]:
    size = 9.5 if article.columns == 2 else 10.5
    text = _style(article, size, firstLineIndent=10, spaceAfter=2)
    plain = {"alignment": TA_LEFT, "hyphenationLang": "", "keepWithNext": 1}
    head = _style(article, size + 1, fontName="Times-Bold", spaceBefore=7, spaceAfter=3, **plain)
    note = _style(article, size - 1.5, spaceAfter=1.5)
    flow: list[Flowable] = []
    for section in article.body:
        flow.append(Paragraph(escape(section.title), head))
        flow += [Paragraph(_markup(paragraph), text) for paragraph in section.paragraphs]
    if article.notes:
        flow.append(Paragraph("Notes", head))
        flow += [Paragraph(f"{n}. {escape(t)}", note) for n, t in enumerate(article.notes, 1)]
    flow.append(Paragraph(escape(article.heading), head))
    flow += [_reference(n, ref, article) for n, ref in enumerate(article.references, 1)]
    for section in article.after:
        flow.append(Paragraph(escape(section.title), head))
        flow += [Paragraph(_markup(paragraph), note) for paragraph in section.paragraphs]
    return flow


def _running_head(article: Article) -> Callable[[Any, Any], None]:
    issue = f"{article.running}, v. {article.volume}, n. {article.issue}, {article.year}"
    names = " & ".join(person.surname for person in article.authors[:2])

    def draw(canvas: Any, document: Any) -> None:
        canvas.saveState()
        canvas.setFont("Times-Italic", 8)
        canvas.drawString(MARGIN, HEAD, issue)
        if document.page > 1:
            canvas.drawRightString(WIDTH - MARGIN, HEAD, names)
        canvas.setLineWidth(0.4)
        canvas.line(MARGIN, HEAD - 4, WIDTH - MARGIN, HEAD - 4)
        canvas.restoreState()

    return draw


def _page_number(article: Article) -> Callable[[Any, Any], None]:
    def draw(canvas: Any, document: Any) -> None:
        canvas.saveState()
        canvas.setFont("Times-Roman", 9)
        canvas.drawCentredString(WIDTH / 2, FOOT, str(article.first_page + document.page - 1))
        canvas.restoreState()

    return draw


def _frame(left: float, width: float, top: float) -> Frame:
    return Frame(left, BOTTOM, width, top - BOTTOM, 0, 0, 0, 0)


def _columns(article: Article, top: float) -> list[Frame]:
    full = WIDTH - 2 * MARGIN
    if article.columns == 1:
        return [_frame(MARGIN, full, top)]
    width = (full - GUTTER) / 2
    return [_frame(MARGIN, width, top), _frame(MARGIN + width + GUTTER, width, top)]


def _height(flow: list[Flowable], width: float) -> float:
    total = 0.0
    for item in flow:
        total += item.wrap(width, HEIGHT)[1] + item.getSpaceAfter() + item.getSpaceBefore()
    return total


def write(article: Article, path: Path) -> None:
    """Write the article's PDF; the same article gives the same bytes."""
    rl_config.invariant = 1
    rl_config.useA85 = 0
    full = WIDTH - 2 * MARGIN
    title = _title(article)
    used = _height(title, full) + 6
    block = Frame(MARGIN, TOP - used, full, used, 0, 0, 0, 0)
    document = BaseDocTemplate(
        str(path), pagesize=A4, invariant=1, title=article.title, lang=article.lang,
        author=", ".join(person.surname for person in article.authors),
    )  # fmt: skip
    furniture = {"onPage": _running_head(article), "onPageEnd": _page_number(article)}
    document.addPageTemplates(
        [
            PageTemplate("first", [block, *_columns(article, TOP - used)], **furniture),
            PageTemplate("later", _columns(article, TOP), **furniture),
        ]
    )
    document.build([*title, NextPageTemplate("later"), FrameBreak(), *_story(article)])
