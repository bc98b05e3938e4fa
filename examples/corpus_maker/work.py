"""What a fictional cited work is, and the tokens that a citation style makes of it.

A style turns a `Work` into a list of `Token`; the printed reference is the tokens' text in order, and
the JATS gold is the same tokens with their fields, so print and gold cannot disagree.
"""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Person:
    """A person; `suffix` is "Jr.", "Filho" ... and empty for most."""

    surname: str
    given: str
    suffix: str = ""

    def initials(self, dot: str = ".", space: str = " ") -> str:
        """Initials of the given names: "Jean-Luc Paul" is "J.-L. P." or, without dots, "JLP"."""
        words = [re.split(r"-", word) for word in self.given.split()]
        joiner = dot + "-" if dot else ""
        return space.join(joiner.join(part[0] for part in parts) + dot for parts in words)


@dataclass(frozen=True)
class Work:
    """One fictional work. `kind`: journal, book, chapter, thesis, confproc, webpage or report."""

    kind: str
    lang: str
    title: str
    year: str
    authors: tuple[Person, ...] = ()
    collab: str = ""
    editors: tuple[Person, ...] = ()
    source: str = ""
    source_abbr: str = ""
    volume: str = ""
    issue: str = ""
    fpage: str = ""
    lpage: str = ""
    elocation: str = ""
    publisher: str = ""
    place: str = ""
    edition: int = 1
    conference: str = ""
    doi: str = ""
    url: str = ""
    accessed: tuple[int, int, int] = (2023, 1, 1)
    letter: str = ""

    @property
    def first_author(self) -> str:
        """The surname or body that the work is filed under."""
        return self.authors[0].surname if self.authors else self.collab


@dataclass(frozen=True)
class Token:
    """A stretch of a printed reference.

    `field` is the JATS element that it fills ("" for punctuation), `person` ("author:0") binds the parts
    of one name, `face` is "i" or "b" in print, and `gold`, where set, is a wrong value for the gold.
    """

    text: str
    field: str = ""
    person: str = ""
    face: str = ""
    gold: str | None = None


@dataclass
class Line:
    """Builder of a token list; every method returns the line, so that calls can be chained."""

    tokens: list[Token] = field(default_factory=list)

    def say(self, text: str, person: str = "") -> "Line":
        """Add punctuation or other untagged text, if any."""
        if text:
            self.tokens.append(Token(text, person=person))
        return self

    def put(
        self, name: str, value: str, before: str = "", after: str = "", face: str = ""
    ) -> "Line":
        """Add a field between `before` and `after`; nothing at all when it has no value."""
        if value:
            self.say(before)
            self.tokens.append(Token(value, name, face=face))
            self.say(after)
        return self

    def part(self, name: str, value: str, person: str) -> "Line":
        """Add a part of a person's name."""
        self.tokens.append(Token(value, name, person))
        return self

    def stop(self, mark: str = ".") -> "Line":
        """Close a sentence with `mark` unless the last text already ends one."""
        if self.tokens and self.tokens[-1].text.rstrip()[-1:] in ".?!":
            return self.say(" ")
        return self.say(mark + " ")


def printed(tokens: list[Token]) -> str:
    """The reference as the PDF prints it."""
    return "".join(token.text for token in tokens).strip()
