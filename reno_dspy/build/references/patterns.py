"""What reference lists look like: headings, ends, starts of references, how lines are joined.

Eight languages: English, Portuguese, Spanish, French, German, Italian, Russian, Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADINGS = (
    r"references?(?: (?:and notes|cited|list))?|list of references|reference list|works cited|"
    r"literature(?: cited)?|cited literature|bibliograph(?:y|ies)|"
    r"refer[eê]ncias?(?: (?:bibliogr[aá]ficas?|citadas|consultadas))?|literatura citada|"
    r"bibliograf[ií]a(?: (?:citada|consultada))?|obras citadas|fuentes(?: consultadas)?|"
    r"r[ée]f[ée]rences(?: bibliographiques)?|bibliographie|ouvrages cit[ée]s|"
    r"literatur(?:verzeichnis|angaben|nachweise?)?|quellen(?:verzeichnis| und literatur)?|"
    r"zitierte literatur|referenzen|riferimenti(?: bibliografici)?|bibliografia essenziale|"
    r"список (?:использованной )?литературы|литература|библиография|"
    r"библиографический список|список источников|参考文献|参考资料|引用文献"
)
# Possessive, as in END: a line of nothing but signs would be tried in every way otherwise.
_HEADING = re.compile(rf"\W*+(?:\d{{1,2}}\.?|[ivx]+\.)?\s*(?:{_HEADINGS})\W*+", re.IGNORECASE)

# What follows a list: a heading of this kind, alone in its line or at the start of a paragraph.
_ENDS = (
    r"append(?:ix|ices)|annex(?:es|e|o|os)?|anhang|allegat[oi]|ap[êe]ndices?|anexos?|приложени[ея]|"
    r"附录|supplement(?:ary|al)? (?:materials?|information|data)|supporting information|"
    r"supplementary|acknowledge?ments?|agradecimi?entos?|remerciements|danksagung|"
    r"ringraziamenti|благодарности|致谢|"
    r"(?:authors?['’]? )?contributions?|contribui(?:ção|ções) d[eo]s?|contribuci[oó]n|"
    r"conflicts? of interests?|competing interests|conflitos? de interesses?|"
    r"declaration of (?:competing )?interest|"
    r"about the authors?|author (?:details|information|biograph)|sobre (?:os|el|la|los) aut|"
    r"autorenangaben|zur person|über d(?:en|ie) autor|korrespondenz(?:adresse)?|"
    r"(?:address for )?correspondence|correspondência|correspondencia|сведения об авторах|作者简介|"
    r"how to cite|como citar|cómo citar|zitiervorschlag|citar este|cite this article|"
    r"editor(?:a)? respons|"
    r"publisher['’]s note|copyright|©|this (?:is an open[- ]access|article is)|"
    r"os autores declaram|the authors? declares?"
)
# Notes of receipt end a list too, though they hold a year as references do.
NOTE = re.compile(
    r"(?:received|accepted|recebido|aceito|aprovado|recibido|aceptado|reçu|ricevuto|eingegangen|"
    r"поступила|收稿日期)\b\W*(?:[a-zé]+\W+)?(?:\d|on|em|el|le|il|am)",
    re.IGNORECASE,
)
END = re.compile(rf"(?:#++\s*+)?+\W{{0,3}}(?:{_ENDS})", re.IGNORECASE)
# Captions do not end a list, which may run around a figure. Their lines are left out.
CAPTION = re.compile(
    r"(?:fig(?:ure|ura|\.)|tab(?:le|ela|la|elle|\.)|abb(?:ildung|\.))\s*\d+[.:]", re.I
)

YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
UNDATED = re.compile(
    r"\b(?:n\.\s?d\.|s\.\s?[df]\.|o\.\s?j\.|s\.\s?a\.|in press|no prelo|en prensa|forthcoming|"
    r"im druck|в печати|б\.\s?г\.)|\[s\.d\.\]",
    re.IGNORECASE,
)
LABEL = re.compile(r"(?P<open>[\[(]?)(?P<number>\d{1,3})(?P<close>\]|\)|\.(?!\d)|\s(?=\s*\D))\s*")
_PARTICLES = (
    r"(?:van|von|de[nrls]?|da|do[s]?|das|du|di|del|della|la|le|el|al|ter|ten|zu[mr]?|af|d['’])"
)
_UPPER = r"A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁ"
# The first characters of a reference: a capital, a particle of a name, a dash that stands for the
# author above, a quotation mark, a Chinese character.
START = re.compile(
    rf"(?:{_PARTICLES}\s+)*['’\"“«„(\[]?[{_UPPER}]|[-–—_―]{{2,}}|[\"“«„'‘]|[\u4e00-\u9fff]"
)
_NAME = rf"[{_UPPER}][\w'’´`.-]*(?: [{_UPPER}][\w'’.-]*){{0,3}}"
# "Surname, X." "SURNAME, Given;" "Surname X, Surname Y" "Organization (2010)" "——. Title".
_AUTHOR_START = re.compile(
    rf"(?:{_PARTICLES}\s+)*(?:"
    rf"{_NAME},\s?(?:[{_UPPER}]\.|[{_UPPER}][\w'’-]+)|"
    rf"{_NAME}\s[{_UPPER}]{{1,3}}[,.;]|"
    rf"{_NAME}[^.]{{0,60}}\((?:1[5-9]|20)\d\d[a-z]?\)|"
    rf"[{_UPPER}]{{2,}}[^.]{{0,80}}[.,]|[-–—_―]{{2,}}|[\u4e00-\u9fff]{{2,4}}[,，.])"
)
_OPEN_END = re.compile(
    r"(?:[,;&(–-]|(?<!\S)(?:and|[yei]|et|und|[Ii]n:?|the|of|de|la|for|der|die|и)|"
    # "In K." and "; Dodebei, V." go on with the rest of the name, or with another one.
    rf"\bIn:? (?:[{_UPPER}]\.\s?)+|; {_NAME}, (?:[{_UPPER}]\.\s?)+|"
    # "Proc." and "PLoS" begin a journal's name, which goes on in the next line.
    r"\b(?:Proc|Ann|Trans|Open|PLo[SS]|Natl|Acad|Int|Eur|Amer?|Brit|Can|Curr|Front|Rev|Arch|Adv)\.?)$"
)
_LINK_LABELS = re.compile(
    r"\s*(?:(?:PubMed Abstract|Publisher Full Text|Free Full Text|Reference Source)\W*)+\Z"
)
_URL_TAIL = re.compile(r"(?:https?:|www\.|doi\.org|\b10\.\d{4,}/)\S*$", re.IGNORECASE)


# How far into a line its author is looked for, and how far from its end a phrase that goes on. More would
# tell no more, and takes too long where a whole text is one line.
_NEAR = 200
# Characters of an address that decide how it goes on in the next line.
_LONGEST_ADDRESS = 500


def is_heading(line: str) -> bool:
    """Whether a line is the heading of a list of references, and nothing else."""
    line = line.strip()
    return len(line) < _NEAR and _HEADING.fullmatch(line) is not None


def starts_with_author(line: str) -> bool:
    """Whether a line, or a reference, begins with the name of its author."""
    return _AUTHOR_START.match(line.strip()[:_NEAR]) is not None


def without_link_labels(reference: str) -> str:
    """A reference without the names of links that F1000's platforms print after it."""
    return _LINK_LABELS.sub("", reference)


def ends_open(line: str) -> bool:
    """Whether a line cannot be the last of a reference: it ends with a comma, a preposition, ..."""
    return _OPEN_END.search(line.rstrip()[-_NEAR:]) is not None


def is_dated(text: str) -> bool:
    """Whether a text has a year, or a phrase such as "n.d."."""
    return YEAR.search(text) is not None or UNDATED.search(text) is not None


def join(lines: Sequence[str]) -> str:
    """One string from printed lines: hyphenated words and broken addresses put together."""
    parts: list[str] = []
    # The last word so far: all that decides how the next line goes on, however long the text is.
    last = ""
    for line in (line.strip() for line in lines):
        if not line:
            continue
        if not parts:
            parts.append(line)
        elif last.endswith("-") and len(last) > 1 and last[-2].isalpha() and line[0].islower():
            parts[-1] = parts[-1][:-1]
            parts.append(line)
        elif _joins_without_space(last, line):
            parts.append(line)
        else:
            parts += [" ", line]
            last = ""
        words = line.rsplit(maxsplit=1)
        last = words[-1] if len(words) > 1 else (last + line)[-_LONGEST_ADDRESS:]
    return re.sub(r"\s+", " ", "".join(parts))


def _joins_without_space(word: str, line: str) -> bool:
    if word.endswith("-") and len(word) > 1:
        return True
    if word.endswith("–") and word[-2:-1].isdigit() and line[0].isdigit():
        return True
    if _URL_TAIL.search(word):
        return (word[-1] in "/._=?&-:" and not line[0].isupper()) or line.startswith("//")
    return "\u4e00" <= word[-1:] <= "\u9fff" and "\u4e00" <= line[0] <= "\u9fff"
