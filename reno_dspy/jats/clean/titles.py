"""Rules of cleaning for titles, sources, publishers and editions."""

from __future__ import annotations

import re
from dataclasses import replace

from reno_dspy.jats.clean.edits import Spans, cut, each, stripped, value_of
from reno_dspy.jats.elements import TITLES, WHOLE_PEOPLE
from reno_dspy.jats.spans import Span

_QUOTES = "\"'“”„‟‘’‚«»‹›`´″"
# Opening mark -> the marks that close it.
_PAIRS = {
    "“": "”", "„": "“”", "‘": "’", "‚": "‘’", "«": "»", "»": "«", "‹": "›", "`": "'´`", '"': '"', "'": "'",
}  # fmt: skip
_MEDIUM = re.compile(
    r"(.+?)[\s.]*(?:[\[(]\s*(?:Internet|on-?line|electronic resource|CD-ROM)\s*[\])]|"
    r"\[(?-i:[JMCDNSRPZ]|[JMCDE][BCDMOR]?/OL)\])\.?",
    re.IGNORECASE | re.DOTALL,
)
_INTRODUCED = re.compile(
    r"(?:(?:In|IN|Em|EM|En|Dans|dans|Apud)\s*:\s*|//\s*|of\s+(?=[A-Z]))(\S.*)", re.DOTALL
)
_IN = re.compile(r"\W{0,4}(?:In|IN|Em|EM|En|EN|Dans)\b")
_ALSO = ("trans-title", "trans-source", "source", "series")
# Words at the end of abbreviated journal names (ISO 4), which full names do not end in.
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\w+",
        """
        Abstr Acad Adv Agr Agric Agron Am Anal Anat Anim Ann Annu Anthropol Appl Aquac Arch Archaeol
        Assoc Astron Astrophys Atmos Behav Biochem Bioinf Biol Biomed Biophys Biosci Biotechnol Bot
        Bras Braz Bull Can Cardiol Chem Chim Chromatogr Clim Clin Cogn Commun Comp Comput Conf Conserv
        Contam Crit Curr Dent Dermatol Dev Diagn Dis Ecol Econ Educ Electr Electron Endocrinol Energ
        Eng Entomol Environ Epidemiol Ergon Esp Ethnol Eur Evol Exp Fac Fed Genet Geogr Geol Geophys
        Geosci Gerontol Hist Hortic Hum Hydrol Immunol Ind Inf Inorg Inst Int Interact J Jpn Lab Lang
        Lat Latinoam Lett Libr Linguist Mag Manag Manage Mar Mater Math Mech Med Metab Meteorol
        Methodol Microbiol Mod Mol Nat Natl Nephrol Neurobiol Neurol Neurosci Nucl Numer Nutr Obstet
        Oceanogr Oncol Oper Ophthalmol Org Ornithol Orthop Paediatr Parasitol Pathol Pediatr Pesqui
        Pharm Pharmacol Philos Phys Physiol Phytol Phytopathol Plant Polit Polym Proc Process Prod
        Proj Psychiatr Psychol Publ Pulm Qual Radiol Rech Rehabil Relat Relig Rep Res Rev Rheum
        Rheumatol Sci Sect Ser Soc Sociol Spec Sport Stat Stud Suppl Surg Surv Symp Syst Tech Technol
        Theor Ther Top Toxicol Trans Transl Transp Treat Trop Univ Urol Vet Virol Zool Zootec
        """,
    )
)
# Ends of a publisher's name or place whose stop is their own.
_ABBREVIATED = re.compile(
    r"(?:\b(?:Inc|Ltd|LTD|Co|Corp|Bros|Cia|Dept|Verl|Univ|Eds?)|(?<!\w)[^\W\d_a-z]|"
    r",\s*(?:Pa|Mass|Calif|Conn|Ill|Ind|Mich|Minn|Va|Md|Tex|Fla|Ga|Ont|Que)|"
    r"(?<!\w)(?:[^\W\d_]{2,4}\s?\.\s?[^\W\d_]+|s\.\s?[ln]))\Z"
)
_EDITION = re.compile(
    r"\.?\s*(?:st|nd|rd|th|[ªºa])?\.?\s*(?:eds?|edn|éd|edition|edi[cç][aã]o|edición|édition|Aufl|Auflage|изд)\b\.?",
    re.IGNORECASE,
)


def edges(text: str, spans: Spans, _: str | None) -> Spans:
    """A title has no quotation marks around it, no closing stop or comma, and its own `?` or `!`."""
    dotted = _prints_stops(text, spans)

    def change(span: Span) -> Span:
        bare = span
        for _ in range(4):
            before = bare
            bare = cut(text, cut(text, _unquoted(text, bare), _MEDIUM), _INTRODUCED)
            bare = stripped(text, bare, ",;:–—")
            bare = _without_stop(text, bare, dotted)
            if bare == before:
                break
        own = re.compile(r"[?!]+").match(text, bare.end)
        return replace(bare, end=own.end()) if own and bare.start < bare.end else bare

    return each(text, spans, (*TITLES, *_ALSO), change)


def _unquoted(text: str, span: Span) -> Span:
    """Without the quotation marks around it, and what stands behind the closing one (`,” in`)."""
    value = value_of(text, span)
    inside = value[:1] in _PAIRS
    closing = _PAIRS.get(value[:1] if inside else text[span.start - 1 : span.start], "")
    last = max((value.rfind(mark) for mark in closing), default=-1)
    if last > 0 and len(value) - last <= 5 and sum(map(value.count, closing)) <= 1 + inside:
        return replace(span, start=span.start + inside, end=span.start + last)
    if inside and last <= 0 and text[span.end : span.end + 1] in closing:
        return replace(span, start=span.start + 1)
    if value[-1:] in _QUOTES and not any(mark in value[:-1] for mark in _QUOTES):
        return replace(span, end=span.end - 1)
    return span


def _prints_stops(text: str, spans: Spans) -> bool:
    """Whether the names have initials with stops, and so, in most styles, have other abbreviations."""
    people = (value_of(text, s) for s in spans if s.field in ("given-names", *WHOLE_PEOPLE))
    return any(re.search(r"(?<!\w)[^\W\d_a-z]\.", value) for value in people)


def _without_stop(text: str, span: Span, dotted: bool) -> Span:
    """Without a sentence's stop: one that is neither an ellipsis nor an abbreviation's."""
    value = value_of(text, span)
    if value.endswith("..") or re.search(r"(?<!\w)[A-Z]\.[A-Z]\.\Z", value):
        return span
    if span.field in ("source", "series", "trans-source") and _is_abbreviated(value, dotted):
        return _with_own_stop(text, span)
    return replace(span, end=span.end - 1) if value.endswith(".") else span


def _with_own_stop(text: str, span: Span) -> Span:
    return replace(span, end=span.end + 1) if text[span.end : span.end + 1] == "." else span


def _is_abbreviated(value: str, dotted: bool) -> bool:
    """Whether a name ends in a word with a stop of its own: `J. Exp. Bot.`, in some styles `Crop Sci.`."""
    words = re.findall(r"[\w.]+", value.removesuffix("."))
    last = words[-1].rpartition(".")[2] if words else ""
    known = last in _ABBREVIATIONS or re.fullmatch("[A-Z]", last) is not None
    inner = any("." in word for word in words)
    return (known and (dotted or inner)) or (inner and value.endswith("."))


def publishers(text: str, spans: Spans, _: str | None) -> Spans:
    """A publisher and a place end without a stop that is not an abbreviation's, and without brackets."""

    def change(span: Span) -> Span:
        bare = stripped(text, span, ",;:.")
        if value_of(text, bare).count("(") != value_of(text, bare).count(")"):
            bare = stripped(text, bare, "(),;:.")
        abbreviated = _ABBREVIATED.search(value_of(text, bare))
        return _with_own_stop(text, bare) if abbreviated else bare

    fields = ("publisher-name", "publisher-loc", "conf-name", "conf-loc", "conf-date")
    return each(text, spans, fields, change)


def editions(text: str, spans: Spans, _: str | None) -> Spans:
    """An edition is printed with its word (`2nd ed.`) and without brackets."""

    def change(span: Span) -> Span:
        bare = stripped(text, span, "()[],;:")
        word = _EDITION.match(text, bare.end)
        if word and re.fullmatch(r"\d+\.?|\d+(?:st|nd|rd|th|[ªº])\.?|[\w-]+", value_of(text, bare)):
            return replace(bare, end=word.end())
        return bare

    return each(text, spans, ("edition",), change)


def kinds(text: str, spans: Spans, publication_type: str | None) -> Spans:
    """What stands in a book is a chapter; a work of its own is its `source`."""
    if publication_type not in ("book", "thesis", "report", "webpage", "software"):
        return spans
    has_source = any(span.field == "source" for span in spans)
    made: Spans = []
    for span in spans:
        part = has_source or _IN.match(text, span.end) is not None
        field = "chapter-title" if part else "source"
        own = span.field == "article-title" and (publication_type == "book" or not part)
        made.append(replace(span, field=field) if own else span)
    return made
