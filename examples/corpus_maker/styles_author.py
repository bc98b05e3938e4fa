"""Author-year styles: APA, and the Brazilian ABNT (NBR 6023) with surnames in capitals."""

from .terms import Terms
from .work import Line, Person, Token, Work

ABNT_MOST = 3


def _apa_names(line: Line, people: tuple[Person, ...], role: str, terms: Terms) -> None:
    comma = "" if terms.lang in ("es", "fr", "pt") else ","
    for number, person in enumerate(people):
        key = f"{role}:{number}"
        last = number == len(people) - 1
        line.say("" if not number else f"{comma} {terms.amp} " if last else ", ")
        line.part("surname", person.surname, key).say(", ", key)
        line.part("given-names", person.initials(), key)
        if person.suffix:
            line.say(", ", key).part("suffix", person.suffix, key)


def _apa_editors(line: Line, people: tuple[Person, ...], terms: Terms) -> None:
    for number, person in enumerate(people):
        key = f"editor:{number}"
        last = number == len(people) - 1
        line.say("" if not number else f" {terms.amp} " if last else ", ")
        line.part("given-names", person.initials(), key).say(" ", key)
        line.part("surname", person.surname, key)
    label = terms.editors if len(people) > 1 else terms.editor
    line.say(f" ({label}), " if people else "")


def apa(work: Work, terms: Terms) -> list[Token]:
    """A reference in the manner of APA, 7th edition."""
    line = Line()
    if work.collab:
        line.part("collab", work.collab, "author:0")
    _apa_names(line, work.authors, "author", terms)
    line.put("year", work.year, " (").say(f"{work.letter}). ")
    if work.kind == "journal":
        line.put("article-title", work.title).stop().put(
            "source", work.source, after=", ", face="i"
        )
        line.put("volume", work.volume, face="i").put("issue", work.issue, "(", ")").say(", ")
        line.put("elocation-id", work.elocation).put("fpage", work.fpage)
        line.put("lpage", work.lpage, "–").say(". ")
        return line.put("doi", work.doi, "https://doi.org/").tokens
    if work.kind in ("chapter", "confproc"):
        line.put("chapter-title" if work.kind == "chapter" else "article-title", work.title).stop()
        line.say(f"{terms.inside} ")
        _apa_editors(line, work.editors, terms)
        line.put("source", work.source, face="i")
        line.put("fpage", work.fpage, f" ({terms.pages} ").put("lpage", work.lpage, "–", "). ")
        return line.put("publisher-name", work.publisher, after=".").tokens
    line.put("source", work.title, face="i")
    line.put("edition", terms.ordinals.get(work.edition, ""), " (", ".)")
    if work.kind == "thesis":
        return (
            line.say(f" [{terms.degree}, ").put("publisher-name", work.publisher, after="].").tokens
        )
    line.stop()
    if work.publisher != work.collab or not work.url:
        line.put("publisher-name", work.publisher, after=". ")
    return line.put("uri", work.url).tokens


def _abnt_names(line: Line, people: tuple[Person, ...], role: str) -> None:
    shown = people if len(people) <= ABNT_MOST else people[:1]
    for number, person in enumerate(shown):
        key = f"{role}:{number}"
        line.say("; " if number else "").part("surname", person.surname.upper(), key)
        if person.suffix:
            line.say(" ", key).part("suffix", person.suffix.upper().rstrip("."), key)
        line.say(", ", key).part("given-names", person.initials(), key)
    if len(shown) < len(people):
        line.say(" ").part("etal", "et al.", f"{role}:etal")


def _abnt_where(line: Line, work: Work) -> None:
    line.put("publisher-loc", work.place, after=": ").put(
        "publisher-name", work.publisher, after=", "
    )
    line.put("year", work.year, after=".")


def abnt(work: Work, terms: Terms) -> list[Token]:
    """A reference in the manner of ABNT NBR 6023."""
    line = Line()
    if work.collab:
        line.part("collab", work.collab.upper(), "author:0")
    _abnt_names(line, work.authors, "author")
    line.stop()
    if work.kind == "journal":
        line.put("article-title", work.title).stop().put(
            "source", work.source, after=", ", face="b"
        )
        line.put("volume", work.volume, "v. ", ", ").put("issue", work.issue, "n. ", ", ")
        line.put("elocation-id", work.elocation, after=", ").put("fpage", work.fpage, "p. ")
        line.put("lpage", work.lpage, "-", ", ").put("year", work.year, after=". ")
        return line.put("doi", work.doi, "DOI: ", ".").tokens
    if work.kind in ("chapter", "confproc"):
        line.put("chapter-title" if work.kind == "chapter" else "article-title", work.title).stop()
        line.say(f"{terms.inside}: ")
        if work.editors:
            _abnt_names(line, work.editors, "editor")
            line.say(f" ({terms.editors if len(work.editors) > 1 else terms.editor}). ")
        line.put("source", work.source, after=". ", face="b")
        _abnt_where(line, work)
        return line.put("fpage", work.fpage, " p. ").put("lpage", work.lpage, "-", ".").tokens
    line.put("source", work.title, face="b").stop()
    line.put("edition", terms.ordinals.get(work.edition, ""), after=". ")
    if work.kind == "thesis":
        line.put("year", work.year, after=f". {terms.degree} – ")
        line.put("publisher-name", work.publisher, after=", ")
        return line.put("publisher-loc", work.place, after=".").tokens
    _abnt_where(line, work)
    line.put("uri", work.url, f" {terms.available} ", ". ")
    if work.url:
        line.put("date-in-citation", terms.date(work.accessed), f"{terms.accessed} ", ".")
    return line.tokens
