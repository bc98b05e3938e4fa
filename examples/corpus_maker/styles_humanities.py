"""Bibliography styles of the humanities: Chicago in English, French and German usage."""

from .terms import Terms
from .work import Line, Person, Token, Work


def _inverted(line: Line, people: tuple[Person, ...], conjunction: str, comma: str) -> None:
    """Put "Surname, Given, and Given Surname"; with a slash as `comma` every name is inverted."""
    for number, person in enumerate(people):
        key = f"author:{number}"
        last = number == len(people) - 1
        line.say("" if not number else conjunction if last else comma)
        if number == 0 or comma != ", ":
            line.part("surname", person.surname, key).say(", ", key)
            line.part("given-names", person.given, key)
            if person.suffix:
                line.say(", ", key).part("suffix", person.suffix, key)
        else:
            _plain(line, person, key)


def _plain(line: Line, person: Person, key: str) -> None:
    line.part("given-names", person.given, key).say(" ", key).part("surname", person.surname, key)
    if person.suffix:
        line.say(" ", key).part("suffix", person.suffix, key)


def _editors(line: Line, people: tuple[Person, ...], conjunction: str) -> None:
    for number, person in enumerate(people):
        last = number == len(people) - 1
        line.say("" if not number else conjunction if last else ", ")
        _plain(line, person, f"editor:{number}")


def _head(work: Work, conjunction: str, comma: str = ", ") -> Line:
    line = Line()
    if work.collab:
        line.part("collab", work.collab, "author:0")
    _inverted(line, work.authors, conjunction, comma)
    return line


def _quoted(line: Line, name: str, title: str) -> None:
    """Put “Title.” with the full stop inside, unless the title ends a sentence itself."""
    line.put(name, title, "“", ("" if title[-1] in "?!" else ".") + "” ")


def chicago(work: Work, terms: Terms) -> list[Token]:
    """A bibliography entry as in the Chicago Manual of Style (notes and bibliography)."""
    line = _head(work, ", and ").stop()
    if work.kind == "journal":
        _quoted(line, "article-title", work.title)
        line.put("source", work.source, face="i").put("volume", work.volume, " ")
        line.put("issue", work.issue, ", no. ").put("year", work.year, " (", "): ")
        line.put("elocation-id", work.elocation).put("fpage", work.fpage).put(
            "lpage", work.lpage, "–"
        )
        return line.say(". ").put("doi", work.doi, "https://doi.org/", ".").tokens
    if work.kind in ("chapter", "confproc"):
        _quoted(line, "chapter-title" if work.kind == "chapter" else "article-title", work.title)
        line.say("In ").put("source", work.source, face="i")
        line.say(", edited by " if work.editors else "")
        _editors(line, work.editors, " and ")
        line.put("fpage", work.fpage, ", ").put("lpage", work.lpage, "–", ". ")
        line.put("publisher-loc", work.place, after=": ").put(
            "publisher-name", work.publisher, after=", "
        )
        return line.put("year", work.year, after=".").tokens
    if work.kind == "thesis":
        _quoted(line, "source", work.title)
        line.say("PhD diss., ").put("publisher-name", work.publisher, after=", ")
        return line.put("year", work.year, after=".").tokens
    line.put("source", work.title, face="i").stop()
    line.put("edition", terms.ordinals.get(work.edition, ""), after=". ")
    line.put("publisher-loc", work.place, after=": ").put(
        "publisher-name", work.publisher, after=", "
    )
    line.put("year", work.year, after=". ")
    if work.url:
        line.put("date-in-citation", terms.date(work.accessed), f"{terms.accessed} ", ". ")
    return line.put("uri", work.url, after=".").tokens


def francais(work: Work, terms: Terms) -> list[Token]:
    """A French bibliography entry: titles in guillemets, everything between commas."""
    line = _head(work, " et ").say(", ")
    if work.kind in ("journal", "chapter", "confproc"):
        name = "chapter-title" if work.kind == "chapter" else "article-title"
        line.put(name, work.title, "« ", " », ")
    if work.kind == "journal":
        line.put("source", work.source, face="i").put("volume", work.volume, ", vol. ")
        line.put("issue", work.issue, ", n° ").put("year", work.year, ", ", ", ")
        line.put("elocation-id", work.elocation).put("fpage", work.fpage, "p. ")
        line.put("lpage", work.lpage, "-")
        return line.put("doi", work.doi, ", DOI : ").say(".").tokens
    if work.kind in ("chapter", "confproc"):
        line.say("dans ")
        _editors(line, work.editors, " et ")
        line.say(" (dir.), " if work.editors else "")
        line.put("source", work.source, face="i")
    else:
        line.put("source", work.title, face="i")
    line.put("edition", terms.ordinals.get(work.edition, ""), ", ", ".")
    line.say(f", {terms.thesis}" if work.kind == "thesis" else "")
    line.put("publisher-loc", work.place, ", ").put("publisher-name", work.publisher, ", ")
    line.put("year", work.year, ", ").put("fpage", work.fpage, ", p. ").put(
        "lpage", work.lpage, "-"
    )
    line.put("uri", work.url, ", ")
    if work.url:
        line.put("date-in-citation", terms.date(work.accessed), f" ({terms.accessed} ", ")")
    return line.say(".").tokens


def deutsch(work: Work, terms: Terms) -> list[Token]:
    """A German bibliography entry: names by slashes, "In:", place and year, "S."."""
    line = _head(work, " / ", " / ").say(": ")
    if work.kind in ("journal", "chapter", "confproc"):
        line.put("chapter-title" if work.kind == "chapter" else "article-title", work.title).stop()
        line.say("In: ")
    if work.kind == "journal":
        line.put("source", work.source, face="i").put("volume", work.volume, " ")
        line.put("year", work.year, " (", ")").put("issue", work.issue, ", H. ")
        line.put("elocation-id", work.elocation, ", ").put("fpage", work.fpage, ", S. ")
        line.put("lpage", work.lpage, "–").say(". ")
        return line.put("doi", work.doi, "DOI: ", ".").tokens
    _editors(line, work.editors, " und ")
    line.say(" (Hg.): " if work.editors else "")
    title = work.source if work.kind in ("chapter", "confproc") else work.title
    line.put("source", title, face="i").stop()
    line.put("edition", terms.ordinals.get(work.edition, ""), after=". ")
    line.say(f"{terms.degree}, " if work.kind == "thesis" else "")
    line.put("publisher-name", work.publisher if work.kind != "report" else "", after=", ")
    line.put("publisher-loc", work.place, after=" ").put("year", work.year)
    line.put("fpage", work.fpage, ", S. ").put("lpage", work.lpage, "–").say(".")
    line.put("uri", work.url, " ")
    if work.url:
        line.put("date-in-citation", terms.date(work.accessed), f" ({terms.accessed} ", ").")
    return line.tokens
