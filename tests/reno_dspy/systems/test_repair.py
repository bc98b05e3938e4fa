"""What rules mend in the labels of a model, and what a model is given to read.

In the cases, `{field|value}` marks a value; `{field:role|value}` one of a person who is no author.
"""

import gzip
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.data.lessons import Lesson
from reno_dspy.jats.citation import parse, read_values
from reno_dspy.jats.elements import PEOPLE, SCORED, WHOLE_PEOPLE
from reno_dspy.jats.spans import Span, render
from reno_dspy.systems.crf.model import Crf
from reno_dspy.systems.repair import as_read, prepared, repaired

_MARKED = re.compile(r"\{([a-z-]+)(?::([a-z]+))?\|([^{}]*)\}")


def parsed(marked: str) -> tuple[str, list[Span]]:
    text, spans, position = "", [], 0
    for found in _MARKED.finditer(marked):
        text += marked[position : found.start()]
        role = found[2] or ("author" if found[1] in PEOPLE | WHOLE_PEOPLE else None)
        spans.append(Span(len(text), len(text) + len(found[3]), found[1], role))
        text += found[3]
        position = found.end()
    return text + marked[position:], spans


def marked(text: str, spans: list[Span]) -> str:
    for span in reversed(spans):
        role = f":{span.role}" if span.role not in (None, "author") else ""
        value = text[span.start : span.end]
        text = f"{text[: span.start]}{{{span.field}{role}|{value}}}{text[span.end :]}"
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # One person is never two.
        ("{surname|Di} {surname|Falco}, {given-names|Serena}",
         "{surname|Di Falco}, {given-names|Serena}"),
        ("{surname|Ruiz} {surname|Salcedo} {given-names|J.}",
         "{surname|Ruiz Salcedo} {given-names|J}."),
        ("{surname|DA} {surname|COSTA} {surname|LIMA}, {given-names|A.}",
         "{surname|DA COSTA LIMA}, {given-names|A.}"),
        ("{surname|Ito}, {given-names|Jean- }{given-names|Luc}",
         "{surname|Ito}, {given-names|Jean- Luc}"),
        ("{given-names|Jean-}{surname|Luc} {surname|Ito}", "{given-names|Jean-Luc} {surname|Ito}"),
        ("{given-names|Karl} - {given-names|Heinz} {surname|Ito}",
         "{given-names|Karl - Heinz} {surname|Ito}"),
        ("{surname|Al-}{surname|Rashid} {given-names|K}", "{surname|Al-Rashid} {given-names|K}"),
        ("{surname|O'}{surname|Brien} {given-names|DJ}", "{surname|O'Brien} {given-names|DJ}"),
        ("{given-names|X.}{given-names|L.} {surname|Ito}", "{given-names|X.L.} {surname|Ito}"),
        ("{surname|Ito} {given-names|K.} {given-names|L.}", "{surname|Ito} {given-names|K. L.}"),
        ("{surname|Santa} {given-names|Helena} {given-names|ET}",
         "{surname|Santa Helena} {given-names|ET}"),
        ("{given-names|Maria} {given-names|E} {surname|Ito}", "{given-names|Maria E} {surname|Ito}"),
        ("{surname|Ito}, {surname|Oe}", "{surname|Ito}, {surname|Oe}"),
        ("{surname|Ito} {surname:editor|Oe}", "{surname|Ito} {surname:editor|Oe}"),
        ("{surname|王} {surname|李}", "{surname|王} {surname|李}"),
        # Names in natural order.
        ("{surname|Ilona} {surname|Marsk}, {surname|Viktor} {surname|Oe} and x",
         "{given-names|Ilona} {surname|Marsk}, {given-names|Viktor} {surname|Oe} and x"),
        ("{surname|Ilona} {surname|Marsk}, {given-names|Jiri} {surname|Oe}",
         "{given-names|Ilona} {surname|Marsk}, {given-names|Jiri} {surname|Oe}"),
        # One person has one role.
        ("{given-names|G}. {surname:editor|Salmastri}",
         "{given-names:editor|G.} {surname:editor|Salmastri}"),
        ("{surname|Ito} {given-names|K}, {given-names:editor|G.} {surname:editor|Oe}",
         "{surname|Ito} {given-names|K}, {given-names:editor|G.} {surname:editor|Oe}"),
        # Punctuation is no name.
        ("{surname|Ito}{surname|,} {given-names|K}", "{surname|Ito}, {given-names|K}"),
        ("{surname|کریمی}{surname|،} x", "{surname|کریمی}، x"),
        ("{surname|אבן}{surname|־}{surname|עזרא}, {given-names|א}",
         "{surname|אבן־עזרא}, {given-names|א}"),
        # `et al.` is whole.
        ("{surname|Ito} {given-names|K}, {etal|et} al. Foxes",
         "{surname|Ito} {given-names|K}, {etal|et al.} Foxes"),
        ("{surname|Ito} {given-names|K}, {surname|y} {given-names|cols}. Foxes",
         "{surname|Ito} {given-names|K}, {etal|y cols.} Foxes"),
        ("{surname|Иванов} {given-names|А. А.} и др. x",
         "{surname|Иванов} {given-names|А. А.} {etal|и др.} x"),
        ("{surname|Ito} {given-names|K.}, u. a.: Füchse",
         "{surname|Ito} {given-names|K.}, {etal|u. a.}: Füchse"),
        ("{surname|Nowak} {given-names|K.} i in. Lisy",
         "{surname|Nowak} {given-names|K.} {etal|i in.} Lisy"),
        # Values begin and end by the conventions.
        ("{surname|Ito}, {given-names|K. L}.; {surname|Oe}, {given-names|H.} {article-title|Foxes.} x",
         "{surname|Ito}, {given-names|K. L.}; {surname|Oe}, {given-names|H.} {article-title|Foxes}. x"),
        ("{surname|Ito} {given-names|KL}, {surname|Oe} {given-names|H.} x {fpage|e0123}",
         "{surname|Ito} {given-names|KL}, {surname|Oe} {given-names|H}. x {elocation-id|e0123}"),
        # Identifiers are found by their form.
        ("{uri|https://doi.org/10.5555/a1}", "https://doi.org/{pub-id|10.5555/a1}"),
        ("{source|arXiv}:{volume|2101}.{fpage|00001}", "arXiv:{pub-id|2101.00001}"),
        ("{article-title|Foxes. https://a.org/b}.", "{article-title|Foxes}. {uri|https://a.org/b}."),
        ("PMID: {issue|12345}; ISBN 978-3-16-148410-0",
         "PMID: {pub-id|12345}; ISBN {pub-id|978-3-16-148410-0}"),
        ("{pub-id|10.5555/a1}.{pub-id|12345678}", "{pub-id|10.5555/a1}.{pub-id|12345678}"),
    ],
)  # fmt: skip
def test_a_rule(before: str, after: str) -> None:
    text, spans = parsed(before)
    assert marked(text, repaired(text, spans)) == after


fields = st.sampled_from(
    ["surname", "given-names", "etal", "collab", "source", "article-title", "pub-id", "uri", "year"]
)
pieces = st.sampled_from(
    ["Ito", "Oe", "K.", "et", "al.", " ", ", ", "-", "'", "Di", "ET", "https://doi.org/10.5555/a1", "王",
     "10.5555/a1", ".", "12345678", "u.a.", "e\u0301", "[3] "]
)  # fmt: skip


@given(
    st.lists(st.tuples(pieces, st.none() | fields, st.sampled_from(["", ":editor"])), max_size=12)
)
def test_whatever_a_model_labels_can_be_written(parts: list[tuple[str, str | None, str]]) -> None:
    text, spans = parsed("".join(f"{{{f}{r}|{t}}}" if f else t for t, f, r in parts))
    read = prepared(text)
    inside = [span for span in spans if span.end <= len(read.text)]
    written = render(text, read.spans(inside))
    assert "".join(parse(written).itertext()).strip() == text.strip()


@pytest.mark.parametrize(
    ("reference", "label"),
    [
        ("[14] Ito, K. Foxes. 2001.", "[14]"),
        ("8. The Quiet Group. Foxes. 2001.", "8."),
        ("Ito, K. Foxes. 2001.", None),
        ("1984. Ito, K. Foxes.", None),
        ("3D printing of foxes. 2001.", None),
    ],
)
def test_a_model_reads_a_reference_without_its_label(reference: str, label: str | None) -> None:
    read = prepared(reference)
    assert read.text == reference.removeprefix(label or "").lstrip()
    first = Span(0, len(read.text), "source")
    spans = read.spans([first])
    assert [reference[s.start : s.end] for s in spans] == [*filter(None, [label]), read.text]


def test_training_rows_are_read_alike() -> None:
    text, spans = parsed("[3] {surname|Tu\u0308fek} {given-names|K}. {year|2001}")
    read = as_read(Lesson(text, (Span(0, 3, "label"), *spans), None))
    assert (
        marked(read.plaintext, list(read.spans)) == "{surname|Tüfek} {given-names|K}. {year|2001}"
    )


ACCENTED = (
    "Tüfekçi Z, Gündoğdu Ö. Üçüncü köprünün öyküsü. İstanbul: Çınar; 2014.",
    "ŚWIĘTOSŁAWSKI, Ł. Gdańsk i morze. Przegląd Nadmorski, v. 3, n. 2, p. 5-9, 2014.",
    "Nguyễn, T. H. (2014). Lịch sử đèn biển. Tạp chí Văn hóa, 12(3), 45–50.",
    "Müller-Lüdenscheidt, É. Les phares de l’été. Revue française d’océanographie, 8(1), 2–7, 1999.",
)


def values(annotation: str) -> dict[str, tuple[str, ...]]:
    found = read_values(parse(annotation), SCORED)
    return {name: tuple(unicodedata.normalize("NFC", v) for v in vs) for name, vs in found.items()}


def test_decomposed_letters_change_no_value(shared: Path) -> None:
    crf = Crf()
    with gzip.open(shared / "data/refs/scielo.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["plaintext"] for line in lines][:300]
    accented = [t for t in texts if unicodedata.normalize("NFD", t) != t]
    assert len(accented) > 50
    for text in (*ACCENTED, *accented):
        composed = unicodedata.normalize("NFC", text)
        decomposed = unicodedata.normalize("NFD", text)
        answer = crf.annotate_one(decomposed)
        assert "".join(parse(answer).itertext()).strip() == decomposed.strip()
        assert values(answer) == values(crf.annotate_one(composed))
