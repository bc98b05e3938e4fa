"""Training rows by the conventions: each rule on references as publishers annotate them.

In the cases, `{field|value}` marks a value; roles are the authors'.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.jats.clean import RULES, clean_spans
from reno_dspy.jats.elements import PEOPLE, WHOLE_PEOPLE
from reno_dspy.jats.spans import Span, render

_MARKED = re.compile(r"\{([a-z-]+)\|([^{}]*)\}")


def parsed(marked: str) -> tuple[str, list[Span]]:
    text, spans, position = "", [], 0
    for found in _MARKED.finditer(marked):
        text += marked[position : found.start()]
        role = "author" if found[1] in PEOPLE | WHOLE_PEOPLE else None
        spans.append(Span(len(text), len(text) + len(found[2]), found[1], role))
        text += found[2]
        position = found.end()
    return text + marked[position:], spans


def marked(text: str, spans: tuple[Span, ...]) -> str:
    for span in reversed(spans):
        text = (
            f"{text[: span.start]}{{{span.field}|{text[span.start : span.end]}}}{text[span.end :]}"
        )
    return text


CASES = [
    # Titles end without a stop, a comma or quotation marks; `?` and `!` are theirs.
    ("{article-title|Foxes.} J Fict", "{article-title|Foxes}. J Fict"),
    ("“{article-title|Foxes of Bern,” in} x", "“{article-title|Foxes of Bern},” in x"),
    ("{article-title|“Foxes of Bern,” in} x", "“{article-title|Foxes of Bern},” in x"),
    ("{article-title|Why foxes}? x", "{article-title|Why foxes?} x"),
    ('{article-title|What is "fox"?} x', '{article-title|What is "fox"?} x'),
    ('"{article-title|Foxes?"}. x', '"{article-title|Foxes?}". x'),
    ("{article-title|Foxes...} x", "{article-title|Foxes...} x"),
    ("{article-title|Foxes in the U.S.} x", "{article-title|Foxes in the U.S.} x"),
    ("{source|Foxes [Internet]}. x", "{source|Foxes} [Internet]. x"),
    ("{article-title|Foxes [J]}. x", "{article-title|Foxes} [J]. x"),
    ("{source|In: Foxes}, x", "In: {source|Foxes}, x"),
    ("{source|// Foxes} x", "// {source|Foxes} x"),
    # An abbreviated source keeps its stop where the reference prints abbreviations with stops.
    ("{source|J. Exp. Bot}. 5", "{source|J. Exp. Bot.} 5"),
    ("{source|J. Opt.} 5", "{source|J. Opt.} 5"),
    ("{surname|Ito} {given-names|K. L.} {source|Crop Sci.} 5",
     "{surname|Ito} {given-names|K. L.} {source|Crop Sci.} 5"),
    ("{surname|Ito} {given-names|KL} {source|Crop Sci.} 5",
     "{surname|Ito} {given-names|KL} {source|Crop Sci}. 5"),
    ("{surname|Ito} {given-names|K. L.} {source|Journalism.} 5",
     "{surname|Ito} {given-names|K. L.} {source|Journalism}. 5"),
    # An initial's stop is decided by how the reference prints initials.
    ("{surname|Ito} {given-names|KL}, {surname|Oe} {given-names|H.} Foxes",
     "{surname|Ito} {given-names|KL}, {surname|Oe} {given-names|H}. Foxes"),
    ("{surname|Ito}, {given-names|K. L}.; {surname|Oe}, {given-names|H}. Foxes",
     "{surname|Ito}, {given-names|K. L.}; {surname|Oe}, {given-names|H.} Foxes"),
    ("{surname|Ito}, {given-names|K}., {surname|Oe}, {given-names|H}. (2001)",
     "{surname|Ito}, {given-names|K.}, {surname|Oe}, {given-names|H.} (2001)"),
    ("{surname|Ito}, {given-names|K}. Foxes", "{surname|Ito}, {given-names|K.} Foxes"),
    ("{surname|Ito} {given-names|K.} Foxes", "{surname|Ito} {given-names|K}. Foxes"),
    ("{given-names|K}. {surname|Ito}, Foxes", "{given-names|K.} {surname|Ito}, Foxes"),
    ("{surname|Ito}, {given-names|Kenji.} Foxes", "{surname|Ito}, {given-names|Kenji}. Foxes"),
    ("{surname|Ito}, {given-names|Kenji L}. Foxes", "{surname|Ito}, {given-names|Kenji L.} Foxes"),
    ("{surname|Silva}, {given-names|J. P. da.} Foxes", "{surname|Silva}, {given-names|J. P. da}. Foxes"),
    ("{surname|Ito} {given-names|KL, ed.}: Foxes", "{surname|Ito} {given-names|KL}, ed.: Foxes"),
    # Suffixes are no part of a name's parts.
    ("{surname|Souza Filho}, {given-names|A. P.}", "{surname|Souza} {suffix|Filho}, {given-names|A. P.}"),
    ("{surname|Hair}, {given-names|J., Jr.}, x", "{surname|Hair}, {given-names|J.}, {suffix|Jr.}, x"),
    ("{surname|Neto}, {given-names|V. B.}", "{surname|Neto}, {given-names|V. B.}"),
    # `et al.` is one value; bodies and names end where their letters do.
    ("{surname|Ito} {given-names|KL}, et al.: Foxes",
     "{surname|Ito} {given-names|KL}, {etal|et al.}: Foxes"),
    ("{surname|Ito} {given-names|KL}, {etal|et al}. Foxes",
     "{surname|Ito} {given-names|KL}, {etal|et al.} Foxes"),
    ("{surname|Ito} {given-names|KL}, {surname|y cols}. Foxes",
     "{surname|Ito} {given-names|KL}, {etal|y cols.} Foxes"),
    ("{person-group|Ito, K., et al.} Foxes", "{person-group|Ito, K.}, {etal|et al.} Foxes"),
    ("{source|Foxes et al.} 2001", "{source|Foxes et al}. 2001"),
    ("{collab|Fox Office:} Foxes", "{collab|Fox Office}: Foxes"),
    ("{collab|Fox Inc}. Foxes", "{collab|Fox Inc.} Foxes"),
    ("{institution|Fox Office}. {source|Foxes}", "{collab|Fox Office}. {source|Foxes}"),
    ("{source|Foxes}. {institution|Fox Office}", "{source|Foxes}. {publisher-name|Fox Office}"),
    # Labels stand apart.
    ("12. {surname|Ito} {given-names|KL}. Foxes", "{label|12.} {surname|Ito} {given-names|KL}. Foxes"),
    ("{surname|[3] Ito} {given-names|KL}. Foxes", "{label|[3]} {surname|Ito} {given-names|KL}. Foxes"),
    ("28 {surname|Ito} {given-names|KL}, Foxes", "{label|28} {surname|Ito} {given-names|KL}, Foxes"),
    ("28 {source|Dark Days} {publisher-name|Ito} x", "28 {source|Dark Days} {publisher-name|Ito} x"),
    # Identifiers are tagged alone, addresses without a final stop.
    ("{uri|https://doi.org/10.5555/a1.}", "https://doi.org/{pub-id|10.5555/a1}."),
    ("{pub-id|doi: 10.5555/a1}. PMID: 12345", "doi: {pub-id|10.5555/a1}. PMID: {pub-id|12345}"),
    ("{uri|Available at: https://a.org/b.}", "Available at: {uri|https://a.org/b}."),
    ("{uri|Reference Source}", "Reference Source"),
    ("{article-title|On https://a.org/b} x", "{article-title|On https://a.org/b} x"),
    ("{pub-id|10.5555/a1}.{pub-id|12345678}", "{pub-id|10.5555/a1}.{pub-id|12345678}"),
    ("{pub-id|10.5555/a1}.12345678", "{pub-id|10.5555/a1}.12345678"),
    # Volume, issue and pages are bare; an article's number is no page.
    ("v. {volume|v. 12}, {issue|(n. 3)}", "v. v. {volume|12}, (n. {issue|3})"),
    ("{volume|52(Suppl. 4)}:{fpage|p. 1}", "{volume|52}({issue|Suppl. 4}):p. {fpage|1}"),
    ("{volume|12}(Suppl {supplement|3}):1", "{volume|12}({issue|Suppl 3}):1"),
    ("{volume|20}({issue|1} Suppl {supplement|2})", "{volume|20}({issue|1 Suppl 2})"),
    ("{page-range|551-553}", "{fpage|551}-{lpage|553}"),
    ("{page-range|75}", "{fpage|75}"),
    ("{fpage|e0263023}", "{elocation-id|e0263023}"),
    ("{fpage|032023}", "{elocation-id|032023}"),
    ("{fpage|e12}-{lpage|e19}", "{fpage|e12}-{lpage|e19}"),
    # Dates.
    ("{year|2010a}", "{year|2010}a"),
    ("{year|2010/2011}", "{year|2010/2011}"),
    ("{year|in press}", "{comment|in press}"),
    ("{comment|Translated by K. Ito}", "Translated by K. Ito"),
    ("[{date-in-citation|cited 2022 Mar 5]}", "[cited {date-in-citation|2022 Mar 5}]"),
    ("Acesso em: {day|5} {month|mar.} {year|2022}.", "Acesso em: {date-in-citation|5 mar. 2022}."),
    ("Accessed: {year|2022}-03-05.", "Accessed: {date-in-citation|2022-03-05}."),
    # Editions and publishers.
    ("{edition|(2nd ed.)}.", "({edition|2nd ed.})."),
    ("x {edition|2}. ed. Bern", "x {edition|2. ed.} Bern"),
    ("{publisher-loc|Bern.}", "{publisher-loc|Bern}."),
    ("{publisher-loc|Washington, D.C}.", "{publisher-loc|Washington, D.C.}"),
    ("{publisher-name|Wiley & Sons, Ltd}.", "{publisher-name|Wiley & Sons, Ltd.}"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES)
def test_a_rule(before: str, after: str) -> None:
    text, spans = parsed(before)
    cleaned = clean_spans(text, spans)
    assert marked(text, cleaned.spans) == after
    assert bool(cleaned.changes) == (before != after)


@pytest.mark.parametrize(("_", "after"), CASES)
def test_what_is_clean_stays(_: str, after: str) -> None:
    text, spans = parsed(after)
    assert clean_spans(text, spans).spans == tuple(sorted(spans))


@pytest.mark.parametrize(
    ("publication_type", "before", "after"),
    [
        ("book", "{article-title|A}. In: {source|B}", "{chapter-title|A}. In: {source|B}"),
        ("book", "{article-title|A}. In: B", "{chapter-title|A}. In: B"),
        ("book", "{article-title|A}. Bern", "{source|A}. Bern"),
        ("webpage", "{article-title|A}. {source|B}", "{article-title|A}. {source|B}"),
        ("webpage", "{article-title|A}. x", "{source|A}. x"),
        ("journal", "{article-title|A}. x", "{article-title|A}. x"),
    ],
)
def test_the_kind_of_a_title_follows_from_the_work(
    publication_type: str, before: str, after: str
) -> None:
    text, spans = parsed(before)
    assert marked(text, clean_spans(text, spans, publication_type).spans) == after


def test_changes_are_counted_by_rule() -> None:
    text, spans = parsed("1. {surname|Ito,} {given-names|KL}. {article-title|Foxes.}")
    assert clean_spans(text, spans).changes == {"labels": 1, "name_edges": 1, "title_edges": 1}


def test_every_rule_says_what_it_does() -> None:
    assert all(rule.__doc__ for rule in RULES.values())


fields = st.sampled_from(
    ["surname", "given-names", "person-group", "article-title", "source", "year", "volume", "issue",
     "fpage", "edition", "uri", "pub-id", "date-in-citation", "comment", "supplement", "page-range"]
)  # fmt: skip
pieces = st.sampled_from(
    ["et al.", "Ito", " K.", ", ", "[3] ", "12", "(", ")", "“", "”", ".", "Jr", " in ", "e123", "v. ",
     "https://doi.org/10.5555/a1", "PMID: 12345", "Suppl 2", "2010a", "Accessed: ", "s.d.", "?", "-"]
)  # fmt: skip


@given(st.lists(st.tuples(pieces, st.none() | fields), max_size=12))
def test_cleaned_spans_can_be_rendered(parts: list[tuple[str, str | None]]) -> None:
    text, spans = parsed("".join(f"{{{field}|{t}}}" if field else t for t, field in parts))
    cleaned = clean_spans(text, spans)
    assert render(text, cleaned.spans)
    assert all(text[span.start : span.end].strip() for span in cleaned.spans)
