"""Annotations as CSL-JSON."""

import pytest

from reno_dspy.jats.csl import to_csl


@pytest.mark.parametrize(
    ("attributes", "inside", "expected"),
    [
        ('publication-type="web"', "<source>a</source>", "webpage"),
        ('citation-type="Journal"', "<source>a</source>", "article-journal"),
        ('publication-type="book"', "<source>a</source>", "book"),
        ('publication-type="book"', "<chapter-title>a</chapter-title>", "chapter"),
        ('publication-type="preprint"', "<source>a</source>", "article"),
        ('publication-type="newspaper"', "<source>a</source>", "article-newspaper"),
        ("", "<article-title>a</article-title><source>b</source>", "article-journal"),
        ('publication-type="unheard-of"', "<conf-name>a</conf-name>", "paper-conference"),
        ("", "", "document"),
    ],
)
def test_types(attributes: str, inside: str, expected: str) -> None:
    item = to_csl(f"<mixed-citation {attributes}>{inside}</mixed-citation>", "a")
    assert item["type"] == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ('<pub-id pub-id-type="doi">10.5555/12</pub-id>', {"DOI": "10.5555/12"}),
        ("<uri>https://doi.org/10.5555/12</uri>", {"DOI": "10.5555/12"}),
        ("<uri>https://example.org/a</uri>", {"URL": "https://example.org/a"}),
        (
            '<pub-id pub-id-type="pmid">123456</pub-id> <pub-id>PMC123456</pub-id>',
            {"PMID": "123456", "PMCID": "PMC123456"},
        ),
        ("<isbn>978-3-16-148410-0</isbn>", {"ISBN": "978-3-16-148410-0"}),
        ('<pub-id pub-id-type="other">NBR 1</pub-id>', {}),
    ],
)
def test_identifiers(inside: str, expected: dict[str, str]) -> None:
    item = to_csl(f"<mixed-citation>{inside}</mixed-citation>", "a")
    assert item == {"id": "a", "type": "document", **expected}


def test_people_dates_and_pages() -> None:
    item = to_csl(
        "<mixed-citation><person-group person-group-type='editor'><string-name><surname>Ito</surname> "
        "<given-names>K</given-names></string-name> <collab>The Group</collab></person-group> "
        "<year>2001</year> <month>5</month> <day>x</day> <fpage>3</fpage>-<lpage>9</lpage>"
        "</mixed-citation>",
        "a",
    )
    assert item["editor"] == [{"family": "Ito", "given": "K"}, {"literal": "The Group"}]
    assert item["issued"] == {"date-parts": [[2001, 5]]}
    assert item["page"] == "3-9"
