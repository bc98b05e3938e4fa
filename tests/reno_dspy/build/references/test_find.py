"""The rule-based extractor on lists of all kinds, and the check that nothing is invented."""

from pathlib import Path

import pytest

from reno_dspy.build.references.find import extract, reference_section, verify, without_furniture
from reno_dspy.build.references.patterns import is_heading, join

BODY = "Running text on lanterns, which was studied in 2014 (Lumen, 2014).\n\n"
REFERENCES = [
    "Lumen, H. (2014). Lanterns and memory. Annals of Imagined Folklore, 8(1), 12–30.",
    "Orrery, T., & Vale, R. (2015). Tidal clocks of the north. Review of Pretend Optics, 3, 1–9.",
    "Quill, A. B. (1999). Queues of paper boats. Nordhaven: Harbour Mill.",
    "Zephyr, M. (2003). Wind in glass bottles. Journal of Small Weather, 14(2), 101–119.",
]


def article(heading: str, items: list[str], after: str = "", between: str = "\n\n") -> str:
    return f"{BODY}{heading}\n\n{between.join(items)}\n{after}"


def wrapped(reference: str, width: int = 40, indent: str = "  ") -> str:
    """A reference as print breaks it, continuation lines indented."""
    lines, line = [], ""
    for word in reference.split():
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = indent
        line += ("" if line in ("", indent) else " ") + word
    return "\n".join([*lines, line])


@pytest.mark.parametrize(
    "heading",
    [
        "References", "REFERENCES", "5. References", "Works Cited", "Referências",
        "Referências bibliográficas", "REFERENCIAS", "Bibliografía", "Références",
        "Références bibliographiques", "Literatur", "Literaturverzeichnis", "Bibliografia",
        "Riferimenti bibliografici", "Список литературы", "Литература", "参考文献", "## References:",
    ],
)  # fmt: skip
def test_headings_in_eight_languages(heading: str) -> None:
    assert is_heading(heading)
    assert extract(article(heading, REFERENCES)) == REFERENCES


@pytest.mark.parametrize("label", ["{}. ", "[{}] ", "({}) ", "{} ", "{}) "])
def test_numbered_lists(label: str) -> None:
    items = [wrapped(label.format(n) + r, indent="") for n, r in enumerate(REFERENCES, start=1)]
    assert extract(article("References", items, between="\n")) == REFERENCES


def test_hanging_indents_without_gaps() -> None:
    items = [wrapped(reference) for reference in REFERENCES]
    assert extract(article("References", items, between="\n")) == REFERENCES


def test_gaps_without_indents() -> None:
    items = [wrapped(reference, indent="") for reference in REFERENCES]
    assert extract(article("References", items)) == REFERENCES


def test_neither_gap_nor_indent_nor_number() -> None:
    items = [wrapped(reference, indent="") for reference in REFERENCES]
    assert extract(article("References", items, between="\n")) == REFERENCES


def test_no_heading() -> None:
    numbered = [f"{n}. {reference}" for n, reference in enumerate(REFERENCES, start=1)]
    assert extract(BODY + "\n".join(numbered)) == REFERENCES
    assert extract(BODY + "\n".join(map(wrapped, REFERENCES))) == REFERENCES


def test_a_list_in_chinese() -> None:
    items = [
        "[1] 沈若木. 城市池塘的声学监测[J]. 虚构生态学报, 2018, 12: 33-41.",
        "[2] 陆天河, 周明. 纸船与\n月光[M]. 北港: 磨坊出版社, 2011.",
        "[3] 白石. 风中的玻璃瓶[J]. 小气象学报, 2003, 14(2): 101-119.",
        "[4] 林深. 北方的潮汐钟[D]. 北港大学, 2015.",
    ]
    assert extract(article("参考文献", items, between="\n")) == [
        "沈若木. 城市池塘的声学监测[J]. 虚构生态学报, 2018, 12: 33-41.",
        "陆天河, 周明. 纸船与月光[M]. 北港: 磨坊出版社, 2011.",
        "白石. 风中的玻璃瓶[J]. 小气象学报, 2003, 14(2): 101-119.",
        "林深. 北方的潮汐钟[D]. 北港大学, 2015.",
    ]


def test_a_reference_runs_over_a_page_with_header_and_footer() -> None:
    pages = [
        f"Journal of Lanterns 12 (2020)\nText.\n\nReferences\n\n{REFERENCES[0]}\n\n"
        "Orrery, T., & Vale, R. (2015). Tidal clocks of the north.\n17",
        f"\fJournal of Lanterns 12 (2020)\n  Review of Pretend Optics, 3, 1–9.\n\n{REFERENCES[2]}\n\n"
        f"{REFERENCES[3]}\n18",
    ]
    text = "\n".join(pages)
    assert extract(text) == REFERENCES
    assert verify(extract(text), text).hallucinated == ()


def test_a_year_at_the_end_of_a_page_is_no_page_number() -> None:
    page = "Header of all\nText\n\nReferences\n\n" + "\n\n".join(REFERENCES[:2])
    text = f"{page}\n\nQuill, A. Queues of paper boats. Nordhaven: Harbour Mill,\n1999.\n\fHeader of all"
    assert extract(text)[-1].endswith("Harbour Mill, 1999.")


@pytest.mark.parametrize(
    "after",
    [
        "\nAppendix A\n\nThe questionnaire of 2014 is given here in full.",
        "\nAuthor contributions\n\nHe wrote it in 2014.",
        "\nAgradecimientos\n\nA todos, en 2014.",
        "\nKorrespondenzadresse\n\nHafenweg 12, 29640 Nordhaven",
        "\nReceived 3 March 2014; accepted 5 May 2014",
        "\nПриложение\n\nАнкета 2014 года.",
    ],
)
def test_where_the_list_ends(after: str) -> None:
    assert extract(article("References", REFERENCES, after)) == REFERENCES


def test_a_note_inside_the_list_does_not_end_it() -> None:
    more = [
        f"Author{letter}, X. ({year}). A further title. Annals, 1, 2–3."
        for letter, year in zip("abcd", range(2001, 2005), strict=True)
    ]
    text = article("References", [*REFERENCES, "Received 3 March 2014", *more])
    assert extract(text) == [*REFERENCES, *more]


def test_no_references() -> None:
    assert extract("") == []
    assert extract(BODY) == []
    assert extract("References\n\nnone") == []


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["evalua-", "tion of lamps"], "evaluation of lamps"),
        (["pages 101-", "119"], "pages 101-119"),
        (["Springer-", "Verlag"], "Springer-Verlag"),
        (["https://doi.org/10.5555/", "abc.1"], "https://doi.org/10.5555/abc.1"),
        (["https:", "//example.org/a"], "https://example.org/a"),
        (["two", "words"], "two words"),
    ],
)
def test_lines_are_joined(lines: list[str], joined: str) -> None:
    assert join(lines) == joined


def test_furniture_is_left_out() -> None:
    text = "Journal of Lanterns, 1\na line\n\fJournal of Lanterns, 2\nanother\n2 de 19"
    assert without_furniture(text) == "a line\nanother"


def test_the_section_that_an_lm_reads() -> None:
    text = article("References", REFERENCES, "\nAppendix\n\nMore.")
    section = reference_section(text)
    assert "Running text" not in section
    assert "Appendix" not in section
    assert all(reference in section for reference in REFERENCES)
    assert reference_section(BODY) == without_furniture(BODY)


TEXT = "A. Quill. Lan-\nterns and well-known   clocks.\nB. Vale. Boats."


@pytest.mark.parametrize(
    ("string", "kept"),
    [
        ("A. Quill. Lanterns and well-known clocks.", True),
        ("A. Quill. Lan-terns and well-known clocks.", True),
        ("Lanterns and wellknown clocks.", False),
        ("B. Vale. Boats.", True),
        ("B. Vale. Goats.", False),
        ("clocks. B. Vale", True),
        ("  ", False),
    ],
)
def test_only_what_occurs_is_kept(string: str, kept: bool) -> None:
    assert verify([string], TEXT).references == ((string,) if kept else ())


def test_dropped_strings_are_counted() -> None:
    found = verify(["B. Vale. Boats.", "b", "B.  Vale. Boats.", "Invented, I. (2020)."], TEXT)
    assert found.references == ("B. Vale. Boats.",)
    assert found.hallucinated == ("b", "Invented, I. (2020).")
    assert found.repeated == 1


def test_the_sample_corpus(corpus: Path) -> None:
    """Every reference that the sample corpus prints is cut out as it is annotated."""
    from reno_dspy.build.match import match
    from reno_dspy.build.pdf.text import text_of_pdf
    from reno_dspy.data.corpus import read_corpus
    from reno_dspy.jats.article import read_article

    found = wanted = 0
    for entry in read_corpus(corpus):
        with open(entry.pdf, "rb") as file:
            references = extract(text_of_pdf(file))
        article_references = [r for r in read_article(entry.xml).references if r.kind == "mixed"]
        wanted += len(article_references)
        found += len(match(references, [[r.text] for r in article_references]))
    assert found >= 0.95 * wanted
