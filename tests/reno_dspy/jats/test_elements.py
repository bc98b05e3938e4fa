"""The vocabulary: one table of elements, one reading of publication types."""

import pytest

from reno_dspy.jats.citation import parse
from reno_dspy.jats.elements import (
    DESCRIBING,
    ELEMENTS,
    LEAVES,
    LOCATORS,
    NAME_PARTS,
    PAPER_COLUMNS,
    PEOPLE,
    PUBLICATION_TYPES,
    SCORED,
    SYNONYMS,
    TITLES,
    publication_type,
    type_named,
)


def test_the_papers_columns_are_scored_in_its_order() -> None:
    fields = ("surname", "given-names", "article-title", "source", "volume", "issue", "year")
    assert tuple(PAPER_COLUMNS) == fields
    assert fields == SCORED


def test_every_name_stands_once() -> None:
    every = [name for element in ELEMENTS for name in (element.name, *element.synonyms)]
    assert len(every) == len(set(every))
    assert not LEAVES & set(SYNONYMS)
    assert NAME_PARTS < PEOPLE < LEAVES
    assert {*TITLES, *LOCATORS} < LEAVES & DESCRIBING


def test_spellings_mean_one_type() -> None:
    spellings = [s for one in PUBLICATION_TYPES for s in one.spellings.split()]
    assert len(spellings) == len(set(spellings))
    assert all(type_named(one.name) == one.name for one in PUBLICATION_TYPES)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('publication-type="journal"', "journal"),
        ('publication-type="Journal"', "journal"),
        ('publication-type="journal-article"', "journal"),
        ('publication-type="Journal Article"', "journal"),
        ('publication-type="article-journal"', "journal"),
        ('publication-type="article"', "journal"),
        ('citation-type="journal"', "journal"),
        ('publication-type="" citation-type="thesis"', "thesis"),
        ('publication-type="Chapter"', "book"),
        ('publication-type="edited_book"', "book"),
        ('publication-type="conf-proc"', "confproc"),
        ('publication-type="web"', "webpage"),
        ('publication-type="report"', "report"),
        ('publication-type="newspaper"', "newspaper"),
        ('publication-type="dataset"', "data"),
        ('publication-type="undefined"', "other"),
        ("", None),
    ],
)
def test_publication_types(attributes: str, expected: str | None) -> None:
    assert publication_type(parse(f"<mixed-citation {attributes}/>")) == expected
