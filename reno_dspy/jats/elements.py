"""The vocabulary of a citation: its JATS elements and the types of cited works.

Everything that names elements derives from these two tables. A new field is one line of `ELEMENTS`;
with `scored=True` it is measured by default. Elements that an annotation may hold but that nobody
labels (`tagged=False`) are known so that they are allowed where JATS allows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lxml import etree

# What an element says: part of a person's name; people and bodies; the title of the cited work, of what
# it appeared in, of either in another language; where in it; when; who published it; an event; an
# identifier or address; a remark of the list or its author.
Kind = Literal[
    "name", "person", "title", "source", "translation", "locator", "date", "publisher", "conference",
    "id", "note",
]  # fmt: skip


@dataclass(frozen=True)
class Element:
    """One JATS element of a citation.

    `tagged`: a value that systems label and `spans.render` writes. `short`: a number or word, found in a
    text as a whole word and not by similarity. `describes`: says something about the cited work.
    `holds`: the elements that JATS allows inside it (formatting, or formatting and links). `synonyms`:
    older or platform-specific names of the same thing.
    """

    name: str
    kind: Kind
    scored: bool = False
    tagged: bool = True
    short: bool = False
    describes: bool = True
    holds: Literal["text", "style", "links"] = "text"
    synonyms: tuple[str, ...] = ()


# In the order of a report's columns.
ELEMENTS = (
    Element("surname", "name", scored=True),
    Element("given-names", "name", scored=True, synonyms=("given-name",)),
    Element("prefix", "name", describes=False),
    Element("suffix", "name", describes=False),
    Element("degrees", "name", tagged=False, describes=False),
    Element("collab", "person", synonyms=("anonymous", "on-behalf-of")),
    Element("etal", "person", describes=False),
    Element("role", "person", tagged=False, describes=False, holds="style"),
    # Around names. As a value of its own where names are not split into their parts.
    Element("string-name", "person", describes=False),
    Element("person-group", "person", describes=False),
    Element("article-title", "title", scored=True, holds="links"),
    Element("chapter-title", "title", holds="links"),
    Element("part-title", "title", holds="links"),
    Element("data-title", "title", holds="links"),
    Element("trans-title", "translation", holds="links"),
    Element("source", "source", scored=True, holds="links"),
    Element("trans-source", "translation", holds="links"),
    Element("series", "source", holds="style"),
    Element("issue-title", "source", tagged=False),
    Element("volume", "locator", scored=True, short=True),
    Element("volume-series", "locator", tagged=False, short=True),
    Element("issue", "locator", scored=True, short=True),
    Element("issue-part", "locator", tagged=False, short=True),
    Element("supplement", "locator", short=True, holds="style"),
    Element("fpage", "locator", short=True),
    Element("lpage", "locator", short=True),
    Element("elocation-id", "locator", short=True),
    Element("page-range", "locator", short=True),
    Element("year", "date", scored=True, short=True),
    Element("month", "date", short=True),
    Element("day", "date", short=True),
    Element("season", "date", short=True),
    Element("date-in-citation", "date", describes=False),
    Element("edition", "publisher", short=True),
    Element("version", "publisher"),
    Element("size", "publisher", short=True),
    Element("publisher-name", "publisher"),
    Element("publisher-loc", "publisher"),
    Element("institution", "publisher"),
    Element("conf-name", "conference"),
    Element("conf-loc", "conference"),
    Element("conf-date", "conference"),
    Element("conf-sponsor", "conference"),
    Element("conf-acronym", "conference", tagged=False),
    Element("pub-id", "id", synonyms=("issue-id", "article-id", "object-id", "isbn", "issn")),
    Element("uri", "id", synonyms=("ext-link",)),
    Element("patent", "id"),
    Element("gov", "id", holds="style"),
    Element("std", "id", holds="style"),
    Element("email", "id", tagged=False, describes=False),
    Element("label", "note", describes=False, holds="style"),
    Element("comment", "note", describes=False, holds="links"),
)  # fmt: skip

# The columns of the paper's tables 1-4 and their heads. What is scored may be more.
PAPER_COLUMNS: Mapping[str, str] = {
    "surname": "Surname",
    "given-names": "Given",
    "article-title": "Title",
    "source": "Source",
    "volume": "Volume",
    "issue": "Issue",
    "year": "Year",
}
# The elements that a report scores by default, in its order.
SCORED = tuple(element.name for element in ELEMENTS if element.scored)

LEAVES = frozenset(element.name for element in ELEMENTS if element.tagged)
SYNONYMS: Mapping[str, str] = {
    synonym: element.name for element in ELEMENTS for synonym in element.synonyms
}
# Elements around names, which stand for whole people where names are not split.
WHOLE_PEOPLE = frozenset({"string-name", "person-group"})


def names(*kinds: Kind) -> tuple[str, ...]:
    """The tagged elements of these kinds, in the order of the table."""
    return tuple(e.name for e in ELEMENTS if e.tagged and e.kind in kinds)


NAME_PARTS = frozenset(names("name"))
PEOPLE = frozenset(names("name", "person")) - {"person-group"}
TITLES = names("title")
LOCATORS = names("locator")
SHORT = frozenset(element.name for element in ELEMENTS if element.short)
# Elements that describe the cited work, under every name they are given.
DESCRIBING = frozenset(
    name for e in ELEMENTS if e.describes and e.tagged for name in (e.name, *e.synonyms)
)

PUB_ID_TYPES = ("doi", "pmid", "pmcid", "arxiv", "isbn", "issn", "handle", "other")
PERSON_ROLES = ("author", "editor", "translator", "compiler", "director", "producer", "inventor")


@dataclass(frozen=True)
class PublicationType:
    """A type of cited work: JATS's word, CSL's (csl-data 1.0), and other spellings in use.

    JATS leaves `@publication-type` open, so platforms differ. Spellings are compared in lower case, with
    hyphens for spaces and underscores.
    """

    name: str
    csl: str
    spellings: str = ""


PUBLICATION_TYPES = (
    PublicationType(
        "journal", "article-journal",
        "article journal-article periodical magazine article-magazine review",
    ),
    PublicationType(
        "book", "book",
        "chapter book-chapter edited-book monograph inbook incollection booklet collection "
        "entry-encyclopedia entry-dictionary encyclopedia",
    ),
    PublicationType(
        "confproc", "paper-conference",
        "conference conf-proc conf-paper conference-paper conference-proceedings proceedings "
        "inproceedings",
    ),
    PublicationType("thesis", "thesis", "dissertation phdthesis mastersthesis"),
    PublicationType("report", "report", "techreport technical-report working-paper discussion"),
    # CSL's `article` is a preprint, JATS's one of a journal.
    PublicationType("preprint", "article", "eprint e-print"),
    PublicationType(
        "webpage", "webpage", "web website web-page web-site online internet link post-weblog blog"
    ),
    PublicationType("newspaper", "article-newspaper", "news newspaper-article"),
    PublicationType("software", "software", "computer-program"),
    PublicationType("data", "dataset", "database data-set"),
    PublicationType("standard", "standard", "std"),
    PublicationType("patent", "patent"),
    PublicationType(
        "legal-doc", "legislation", "legal law regulation statute legal-case legal-document bill"
    ),
    PublicationType("other", "document"),
)  # fmt: skip
# A spelling that two types have (`article`) is JATS's word or a spelling before it is CSL's.
_TYPE_OF = {
    **{one.csl: one.name for one in PUBLICATION_TYPES},
    **{spelling: one.name for one in PUBLICATION_TYPES for spelling in one.spellings.split()},
    **{one.name: one.name for one in PUBLICATION_TYPES},
}


def type_named(spelling: str | None) -> str | None:
    """The type that `spelling` means: `other` for an unknown one, None for none."""
    word = re.sub(r"[\s_]+", "-", (spelling or "").strip().lower())
    return _TYPE_OF.get(word, "other") if word else None


def publication_type(citation: etree._Element) -> str | None:
    """The type of the cited work by `@publication-type` or NLM's `@citation-type`; None if not given."""
    return type_named(citation.get("publication-type")) or type_named(citation.get("citation-type"))
