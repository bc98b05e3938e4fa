"""The paper's similarity and its greedy one-to-one matching."""

from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.build.match import match, similarity
from reno_dspy.jats.citation import parse
from reno_dspy.jats.print_styles import renderings

WORDS = st.lists(st.text("abc", min_size=1, max_size=6), max_size=6)


def distance(p: str, c: str) -> int:
    """Levenshtein's distance, as textbooks write it."""
    row = list(range(len(c) + 1))
    for i, a in enumerate(p, start=1):
        above = row
        row = [i]
        for j, b in enumerate(c, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


@given(st.text("abc ", max_size=12), st.text("abc ", max_size=12))
def test_similarity_is_the_papers(p: str, c: str) -> None:
    longest = max(len(p), len(c))
    expected = 1 - distance(p, c) / longest if longest else 1.0
    assert abs(similarity(p, c) - expected) < 1e-12


@given(WORDS, WORDS)
def test_matching_is_greedy_and_one_to_one(ps: list[str], cs: list[str]) -> None:
    matches = match(ps, [[c] for c in cs])
    assert (
        len({m.extracted for m in matches}) == len({m.annotated for m in matches}) == len(matches)
    )
    scores = [m.similarity for m in matches]
    assert scores == sorted(scores, reverse=True)
    assert all(m.similarity >= 0.75 for m in matches)
    free_p = set(range(len(ps))) - {m.extracted for m in matches}
    free_c = set(range(len(cs))) - {m.annotated for m in matches}
    assert all(similarity(ps[i], cs[j]) < 0.75 for i in free_p for j in free_c)


def test_the_nearest_pair_comes_first() -> None:
    matches = match(["abcdefgh", "abcdefgx"], [["abcdefgx"]])
    assert [(m.extracted, m.annotated, m.similarity) for m in matches] == [(1, 0, 1.0)]


def test_white_space_does_not_count() -> None:
    assert match(["a  b\n c d"], [["a b c d"]])[0].similarity == 1.0


def test_the_nearest_form_is_recorded() -> None:
    matches = match(["abcdefgh"], [["abcdxxgh", "abcdefgh"]])
    assert (matches[0].form, matches[0].similarity) == (1, 1.0)


def test_nothing_to_match() -> None:
    assert match([], [["a"]]) == []
    assert match(["a"], []) == []
    assert match(["a"], [[]]) == []
    assert match(["", "a"], [["", ""], ["b"]]) == []


ELEMENT = """
<element-citation publication-type="journal">
  <person-group person-group-type="author">
    <name><surname>Lelli</surname><given-names>Federico</given-names></name>
    <name><surname>McGaugh</surname><given-names>Stacy S.</given-names></name>
  </person-group>
  <article-title>Mass models for disk galaxies</article-title>
  <source>The Astronomical Journal</source>
  <year>2016</year><volume>152</volume><issue>6</issue>
  <pub-id pub-id-type="doi">10.5555/152</pub-id><fpage>157</fpage><lpage>161</lpage>
</element-citation>
"""


def test_element_citations_are_rendered_as_print_sets_them() -> None:
    forms = renderings(parse(ELEMENT))
    assert forms["apa"] == (
        "Lelli, F., & McGaugh, S. S. (2016). Mass models for disk galaxies. "
        "The Astronomical Journal, 152(6), 157–161."
    )
    assert forms["apa+link"].endswith("157–161. https://doi.org/10.5555/152")
    assert forms["vancouver"] == (
        "Lelli F, McGaugh SS. Mass models for disk galaxies. The Astronomical Journal. "
        "2016;152(6):157–161."
    )
    assert forms["abnt"].startswith("LELLI, F.; MCGAUGH, S. S. Mass models")


def test_the_publisher_of_a_journal_is_not_printed_and_that_of_a_book_is() -> None:
    publisher = "<publisher-name>Fictive Press</publisher-name></element-citation>"
    journal = renderings(parse(ELEMENT.replace("</element-citation>", publisher)))
    assert journal == renderings(parse(ELEMENT))
    book = f"<element-citation><source>Fog</source><year>1999</year>{publisher}"
    assert "Fictive Press" in renderings(parse(book))["apa"]


def test_chapters_and_articles_as_some_publishers_print_them() -> None:
    """Without these forms, such references of element citations were not matched."""
    chapter = """<element-citation publication-type="book"><person-group><name><surname>Veldt</surname>
      <given-names>A. B.</given-names></name></person-group><chapter-title>Fog in towns</chapter-title>
      <source>Weather of Nordhaven</source><fpage>12</fpage><lpage>30</lpage><year>1999</year>
      <publisher-name>Fictive Press</publisher-name><publisher-loc>Nordhaven</publisher-loc>
      </element-citation>"""
    assert renderings(parse(chapter))["hindawi"] == (
        "A. B. Veldt, “Fog in towns,” in Weather of Nordhaven, pp. 12–30, Fictive Press, Nordhaven, 1999."
    )
    assert renderings(parse(ELEMENT))["spandidos"] == (
        "Lelli F and McGaugh SS: Mass models for disk galaxies. The Astronomical Journal 152: 157–161, "
        "2016."
    )


def test_a_citation_without_fields_renders_to_something() -> None:
    assert set(renderings(parse("<element-citation/>"))) >= {"apa", "vancouver", "abnt"}
