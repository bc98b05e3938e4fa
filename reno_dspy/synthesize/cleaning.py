"""What of a metadata record is rendered, and in which form.

A value that could not be told apart in print (two names in one, an address in a title) would be placed
wrongly: the record is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TEXTS = (
    "container-title", "container-title-short", "publisher", "publisher-place", "genre", "number",
    "collection-title", "collection-number", "event-title", "event-place", "version", "medium",
    "status", "authority", "section", "volume", "issue", "page", "number-of-pages", "edition",
)  # fmt: skip
PEOPLE = ("author", "editor", "translator", "container-author", "collection-editor")
_DATES = ("issued", "accessed", "original-date")
_MARKUP = re.compile(r"[<>{}\\$^_|~\ufffd]|&\w+;?|https?://")
_BODY = re.compile(
    r"universi|institut|minist|council|commission|committee|cent(?:er|re|ro)|agency|agenc|associa|society|"
    r"socie|foundation|fundaç|fundac|organi[sz]a|department|departament|office|bureau|group|grupo|team|"
    r"consortium|collaborat|network|project|company|corporation|gmbh|inc\b|ltd|federa|nation|bank|"
    r"govern|gobierno|kommune|board|library|museum|press|academy|academi|akadem|hospital|school|labor|"
    r"\blab\b|service|secretar|brasil|states|conselho|consejo|union|alliance|program|survey|registry|"
    r"\bthe\b|\bof\b|\bfor\b|\bde\b|&|\d",
    re.IGNORECASE,
)
# Words of bodies that no person is called.
_BODY_WORD = re.compile(
    r"\b(?:universit|institut|ministr|software|team\b|group\b|academy\b|foundation\b|contributors\b|"
    r"community\b|company\b|press\b|inc\b|ltd\b|gmbh\b|society\b|association\b|minister\b|pseud)",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|of|and|in|for|to|on|from|with|an?)\b", re.IGNORECASE)
# Forms whose authors are bodies as often as people.
_OF_BODIES = frozenset({"data", "standard", "report", "legal-doc", "software", "patent"})


class Unusable(Exception):
    """A record that cannot be rendered with certainty; says why in a word."""


def cleaned(csl: Mapping[str, Any], form: str) -> dict[str, Any]:
    """The CSL-JSON of `csl` that is rendered. Raises Unusable."""
    title, translation = _title(str(csl.get("title") or ""))
    item: dict[str, Any] = {"type": csl["type"], "title": title}
    if translation:
        item["translated-title"] = translation
    for name in _TEXTS:
        if value := _text(csl.get(name)):
            item[name] = value
    _mend(item)
    for name in PEOPLE:
        if people := _people(csl.get(name) or [], form):
            item[name] = people
    for name in _DATES:
        if date := _date(csl.get(name)):
            item[name] = date
    item |= _identifiers(csl)
    if "page" in item:
        item["page"] = re.sub(r"\s*[-–—]+\s*", "-", item["page"])
    if form == "book":
        item.pop("page", None)
    if "event-title" not in item and (event := _text(csl.get("event"))):
        item["event-title"] = event
    stated = (csl.get("language") or "").partition("-")[0].lower() or None
    if language := language_of_title(title, stated):
        item["language"] = language
    return item


def language_of_title(title: str, stated: str | None) -> str | None:
    """The language as stated, but English where the title has several of its short words."""
    words = len(_ENGLISH.findall(title))
    return "en" if words > 1 and words * 8 > title.count(" ") else stated


def _title(title: str) -> tuple[str, str | None]:
    """The title, and its English translation where that follows in brackets."""
    title = " ".join(title.split()).rstrip(" .,;:/")
    translation = None
    if found := re.fullmatch(r"(.*\w\S*) \[([^\[\]]+)\]", title):
        title = found[1].rstrip(" .,;:/")
        if _ENGLISH.search(found[2]) and found[2].count(" ") > 1 and not _ENGLISH.search(title):
            translation = found[2].strip(" .")
    if len(re.sub(r"\W", "", title)) < 3:
        raise Unusable("no_title")
    if _MARKUP.search(title) or len(title) > 300 or not _balanced(title):
        raise Unusable("odd_title")
    return title, translation


def _mend(item: dict[str, Any]) -> None:
    """Split `2(1)` into volume and issue; drop what surrounds a container's title."""
    if found := re.fullmatch(r"(\w+) ?\((\w[\w/-]*)\)", item.get("volume", "")):
        item["volume"] = found[1]
        item.setdefault("issue", found[2])
    elif re.search(r"[()/:,]|^abs|.{13}|[a-z]+ \d{4}", item.get("volume", "")):
        del item["volume"]
    if re.match(r"e\d{4,}", item.get("issue", "")):
        item["page"] = item.pop("issue")
    if "container-title" in item:
        title = re.sub(r"\s*\[[^\]]*\]$|,? [Ii]n$", "", item["container-title"]).rstrip(" .,")
        item["container-title"] = title
        if re.search(r"[“”„\"]", title) or not title:
            raise Unusable("odd_container")


def _balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "“”"))


def _text(value: Any) -> str | None:
    """A short value as text; None for one that holds markup or nothing."""
    text = " ".join(str(value if value is not None else "").split()).strip(" ,;:/")
    if text.lower() in ("", "none", "n/a", "null") or _MARKUP.search(text) or len(text) > 250:
        return None
    return text if _balanced(text) else None


def _people(names: Sequence[Mapping[str, Any]], form: str) -> list[dict[str, Any]]:
    """Each person once; a web page whose author is doubtful has none."""
    try:
        people = [_person(name, form) for name in names]
    except Unusable:
        if form != "webpage":
            raise
        return []
    return [person for i, person in enumerate(people) if person not in people[:i]]


def _person(name: Mapping[str, Any], form: str) -> dict[str, Any]:
    if literal := " ".join(str(name.get("literal") or "").split()):
        return _body(literal, form)
    parts = ("family", "given", "suffix", "non-dropping-particle", "dropping-particle")
    person = {
        part: " ".join(str(name[part]).split()).strip(" ,;") for part in parts if name.get(part)
    }
    whole = " ".join(person.values())
    if not person.get("family") or re.search(r"[\d&@;:/()\[\]\"“”?!]|\band\b|\bet al", whole):
        raise Unusable("odd_name")
    if _BODY_WORD.search(whole):
        raise Unusable("doubtful_name")
    if _MARKUP.search(whole) or len(whole) > 60 or person.get("given", "").count(" ") > 3:
        raise Unusable("odd_name")
    if re.fullmatch(r"[^\W\d_a-z]{2,4}", person.get("given", "")) and person["given"].isascii():
        person["given"] = " ".join(f"{letter}." for letter in person["given"])
    if "given" in person:
        person["given"] = re.sub(r"\b([a-z])\.", lambda m: m[0].upper(), person["given"])
    if len(person["family"]) > 3 and person["family"].isupper():
        person["family"] = person["family"].title()
    return person


def _body(literal: str, form: str) -> dict[str, str]:
    """A body's name; a person's in its place cannot be told apart from one."""
    if _MARKUP.search(literal) or len(literal) > 120 or ";" in literal:
        raise Unusable("odd_name")
    acronym = literal.isupper() and literal.isalpha() and len(literal) <= 6
    known = acronym or _BODY.search(literal) is not None or form in _OF_BODIES
    several = re.search(r",.* (?:and|und|et|y|e) |^[^,]+, [^\W\d_]\S*$", literal)
    if several or not (known or literal.count(" ") > 3):
        raise Unusable("doubtful_name")
    return {"literal": literal.strip(" ,.")}


def _date(value: Any) -> dict[str, Any] | None:
    """A single date; of a range its beginning."""
    parts = (value or {}).get("date-parts") or [[]] if isinstance(value, Mapping) else [[]]
    try:
        numbers = [int(part) for part in parts[0]]
    except (TypeError, ValueError):
        return None
    if not numbers or not 1400 <= numbers[0] <= 2100:
        return None
    if len(numbers) > 1 and not 1 <= numbers[1] <= 12:
        numbers = numbers[:1]
    date: dict[str, Any] = {"date-parts": [numbers[:3]]}
    if isinstance(value, Mapping) and value.get("season") and len(numbers) == 1:
        date["season"] = value["season"]
    return date


def _identifiers(csl: Mapping[str, Any]) -> dict[str, str]:
    patterns = {
        "DOI": r"10\.\d{4,9}/[^\s<>{}|\\^`\"]+",
        "URL": r"https?://[^\s<>{}|\\^`\"]{4,180}",
        "ISBN": r"(?:97[89][- ]?)?(?:\d[- ]?){9}[\dX]",
        "ISSN": r"\d{4}-?\d{3}[\dX]",
        "PMID": r"\d{4,8}",
        "PMCID": r"PMC\d{4,8}",
    }
    found = {}
    for name, pattern in patterns.items():
        if match := re.search(pattern, str(csl.get(name) or "")):
            found[name] = re.sub(r"&\w*;?$", "", match.group()).rstrip(".,;:")
    return found
