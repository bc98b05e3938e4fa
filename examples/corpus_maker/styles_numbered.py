"""Numbered styles: Vancouver, and the variant that Open Research Europe prints."""

from .terms import Terms
from .work import Line, Person, Token, Work

VANCOUVER_MOST, ORE_MOST = 6, 3


def abbreviated(fpage: str, lpage: str) -> str:
    """The last page without the digits it shares with the first: 123, 129 is "9"."""
    if len(fpage) != len(lpage):
        return lpage
    keep = next((i for i, (a, b) in enumerate(zip(fpage, lpage, strict=True)) if a != b), 0)
    return lpage[keep:]


def names(line: Line, people: tuple[Person, ...], role: str, most: int) -> None:
    """Put "Surname AB, Surname CD, et al" with at most `most` names."""
    for number, person in enumerate(people[:most]):
        key = f"{role}:{number}"
        line.say(", " if number else "")
        line.part("surname", person.surname, key).say(" ", key)
        line.part("given-names", person.initials("", ""), key)
        if person.suffix:
            line.say(" ", key).part("suffix", person.suffix.rstrip("."), key)
    if len(people) > most:
        line.say(", ").part("etal", "et al", f"{role}:etal")


def _authors(work: Work, most: int) -> Line:
    line = Line()
    if work.collab:
        line.part("collab", work.collab, "author:0")
    names(line, work.authors, "author", most)
    return line


def _imprint(line: Line, work: Work) -> None:
    line.put("edition", _edition(work), after=". ")
    line.put("publisher-loc", work.place, after=": ").put("publisher-name", work.publisher)
    line.say("; " if work.publisher else "").put("year", work.year)


def _edition(work: Work) -> str:
    """English ordinals: numbered lists keep them whatever the language of the article."""
    return {2: "2nd ed", 3: "3rd ed"}.get(work.edition, "")


def _range(line: Line, work: Work, dash: str, short: bool) -> None:
    line.put("elocation-id", work.elocation).put("fpage", work.fpage)
    last = abbreviated(work.fpage, work.lpage) if short else work.lpage
    line.put("lpage", last, before=dash)


def vancouver(work: Work, terms: Terms) -> list[Token]:
    """A reference as in the Uniform Requirements, labels in the language of the article."""
    line = _authors(work, VANCOUVER_MOST).stop()
    if work.kind == "journal":
        line.put("article-title", work.title).stop().put("source", work.source_abbr, after=". ")
        line.put("year", work.year, after=";").put("volume", work.volume)
        line.put("issue", work.issue, "(", ")").say(":")
        _range(line, work, "-", short=True)
        return line.say(". ").put("doi", work.doi, "doi: ").tokens
    if work.kind in ("chapter", "confproc"):
        title = "chapter-title" if work.kind == "chapter" else "article-title"
        line.put(title, work.title).stop().say(f"{terms.inside}: ")
        if work.editors:
            names(line, work.editors, "editor", VANCOUVER_MOST)
            label = terms.editors if len(work.editors) > 1 else terms.editor
            line.say(f", {label.lower()} ")
        line.put("source", work.source, after=". ")
        _imprint(line, work)
        line.say(". p. ")
        _range(line, work, "-", short=True)
        return line.say(".").tokens
    line.put("source", work.title)
    if work.kind == "thesis":
        line.say(f" [{terms.thesis}]")
    if work.kind == "webpage":
        line.say(" [Internet]")
    line.stop()
    _imprint(line, work)
    if not work.url:
        return line.say(".").tokens
    line.put("date-in-citation", f"{terms.cited} {terms.date(work.accessed)}", " [", "]. ")
    return line.say(f"{terms.available} ").put("uri", work.url).tokens


def ore(work: Work, terms: Terms) -> list[Token]:
    """A reference as Open Research Europe prints it: three authors, colon, italic source."""
    line = _authors(work, ORE_MOST)
    line.say(".: " if len(work.authors) > ORE_MOST else ": ")
    if work.kind == "journal":
        line.put("article-title", work.title).stop().put(
            "source", work.source_abbr, after=". ", face="i"
        )
        line.put("year", work.year, after="; ").put("volume", work.volume, face="b")
        line.put("issue", work.issue, "(", ")").say(": ")
        _range(line, work, "–", short=False)
        return line.say(". ").put("doi", work.doi).tokens
    if work.kind in ("chapter", "confproc"):
        line.put("chapter-title" if work.kind == "chapter" else "article-title", work.title).stop()
        line.say("In: ")
        if work.editors:
            names(line, work.editors, "editor", ORE_MOST)
            line.say(" (eds.) ")
        line.put("source", work.source, after=". ", face="i")
        line.put("publisher-name", work.publisher, after=", ").put(
            "publisher-loc", work.place, after=". "
        )
        line.put("year", work.year, after="; ")
        _range(line, work, "–", short=False)
        return line.say(".").tokens
    line.put("source", work.title, face="i").stop()
    line.put("edition", _edition(work), after=". ")
    line.say("PhD thesis, " if work.kind == "thesis" else "")
    line.put("publisher-name", work.publisher, after=", ").put(
        "publisher-loc", work.place, after=". "
    )
    return line.put("year", work.year, after=". ").put("uri", work.url).tokens
