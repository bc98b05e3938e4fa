"""Words and marks that references put around their values, in the languages met."""

from __future__ import annotations

import re

# "And others", in words that mean nothing else.
_ETAL_WORDS = (
    r"et\.?\s*al(?:ii|iae|ia|l\b|\b)|e\s+al(?:tri|\b)|(?:and|&)\s*(?-i:al)\b|et\s+(?:autres|coll?\b)|"
    r"(?:e|y|et)\s+cols?\b|[ey]\s+otr[oa]s|e\s+outr[oa]s|(?:[ey]\s+)?colaboradores|"
    r"und\s+andere|en\s+anderen|med\s+flera|(?:and\s+)?others\b|и\s+др(?:угие|\b)|и\s+соавт\b|та\s+ін\b|"
    r"i\s+inni|i\s+wsp\b|a\s+kol\b|a\s+ďalší|ve\s+(?:ark\b|diğerleri)|és\s+mtsai|等人?"
)
# Abbreviations that mean it only behind a name.
_ETAL_BEHIND_NAMES = r"u\.\s?a\b|e\.\s?a\b|m\.\s?fl\b|i\s+in\b|vd\b|ș\.\s?a\b|ほか"
# As a whole name, which it is not.
ETAL_NAME = re.compile(_ETAL_WORDS, re.IGNORECASE)
# Behind a name, with its full stop.
ETAL = re.compile(rf"(?<!\w)(?:(?:{_ETAL_WORDS})|(?-i:{_ETAL_BEHIND_NAMES}))\.?", re.IGNORECASE)

# What stands for a date that is not known or not there yet, as well in CSL's locales.
NO_DATE = re.compile(
    r"(?:s\.?\s?[daj]|n\.?\s?d|o\.\s?J|s\.\s?f|s/f|b\.\s?[rd]|d\.\s?[dg]|u\.\s?å|e\.\s?d|z\.\s?d|t\.\s?[ty]|t\.\s?th|"
    r"f\.\s?a|w\.\s?p|é\.\s?n|ei\s+pvm|bez\s+dat|χ\.\s?χ|б\.\s?[дг]|д\.\s?т|د\.\s?ت|ม\.ป\.ป|"
    r"(?:no|without|ohne)\s+(?:date|Datum)|(?:sin|sem|sense|sen|sans|senza|sine|uten|uden|utan|zonder)\s+"
    r"(?:fecha|data|date|dato|datum|år|årtal|anno|die)|без\s+(?:даты|дати|дата|датума)|brak\s+daty|"
    r"bez\s+datuma|brez\s+datuma|fără\s+dată|tarih\s+yok|tanpa\s+tanggal|không\s+ngày|évszám\s+nélkül|"
    r"χωρίς\s+χρονολογία|بدون\s+تاریخ|دون\s+تاريخ|לא\s+ידוע|दिनांक\s+अज्ञात|ไม่ปรากฏปีที่พิมพ์|日付なし|"
    r"일자\s+없음|日期不[详詳]|不[详詳]|"
    r"in\s+press|no\s+prelo|en\s+(?:prensa|imprenta|impremta)|forthcoming|sous\s+presse|in\s+stampa|"
    r"im\s+(?:Druck|Erscheinen)|to\s+appear|submitted|accepted|в\s+печати|у\s+пресі|под\s+печат|"
    r"у\s+штампи|u\s+(?:tisku|štampi)|v\s+(?:tisku|tlači)|w\s+druku|in\s+druk|i\s+(?:tryk|trykk|tryck|trykken)|"
    r"sub\s+tipar|painossa|trükis|basımda|υπό\s+έκδοση|زیر\s+چاپ|قيد\s+النشر|בדפוס|近刊|送印中|印行中)\.?",
    re.IGNORECASE,
)
# What introduces the date on which a page was read.
ACCESSED = re.compile(
    r"(?<!\w)(?:(?:last\s+)?accessed(?:\s+on)?|last\s+access|access(?:\s+(?:on|date)|(?=\s*:))|cited|viewed|retrieved(?:\s+on)?|"
    r"acess?o(?:\s+em)?|acess?ado(?:\s+em)?|citado(?:\s+em)?|consultad[oa](?:\s+(?:em|el))?|"
    r"acceso(?:\s+el)?|accedido(?:\s+el)?|consult[ée]e?(?:\s+le)?|consultato(?:\s+il)?|"
    r"abgerufen(?:\s+am)?|Zugriff(?:\s+(?:am|vom))?|letzter\s+Zugriff|дата\s+обращения)\W{0,3}",
    re.IGNORECASE,
)

_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_BRACKETED = re.compile(
    r"\s*[\[(]([1-9]\d{0,3}|[A-Z][A-Za-z+]{0,8}\d{2}[a-z]?)[\])][.:]?(?=\s|[^\W\d_])"
)
_DOTTED = re.compile(r"\s*([1-9]\d{0,3})[.)](?=\s+[^\W\d_]|\s+[“\"'«]|[^\W\d_a-z])")
# A number alone is a label only before a name: `28 Dos Santos PR, ...`.
_NUMBER = re.compile(
    r"\s*([1-9]\d{0,2})(?=\s+[^\W\d_a-z][\w’'-]+(?:\s+[^\W\d_a-z][\w’'-]+){0,2}(?:,|\s)\s*"
    r"(?:[^\W\d_a-z]{1,3}\b(?!-)|[^\W\d_a-z]\.)[,.; ])"
)


def leading_label(text: str) -> tuple[int, int] | None:
    """Where the number stands that a list put before a reference: `[12]`, `3.`, `7)`, `28 Santos PR`.

    None where there is none; a year is none, and neither is a title's first word (`3D printing`).
    """
    for pattern in (_BRACKETED, _DOTTED, _NUMBER):
        found = pattern.match(text)
        if found and not _YEAR.fullmatch(found.group(1)):
            start = found.start() + len(found.group()) - len(found.group().lstrip())
            return (start, found.end()) if text[found.end() :].strip() else None
    return None
