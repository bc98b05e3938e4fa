"""Page ranges written out, so that `123-9` and `123-129` are the same."""

from __future__ import annotations

import re

from reno_dspy.jats.citation import Values

_RANGE = re.compile(r"(\d+)\s*[-\u2010-\u2015]\s*(\d+)")


def with_whole_pages(values: Values) -> Values:
    """`values` with each shortened last page in full, in `lpage` and `page-range`."""
    whole = dict(values)
    first = next(iter(values.get("fpage", ())), "")
    if "lpage" in values:
        whole["lpage"] = tuple(_in_full(first, last) for last in values["lpage"])
    if "page-range" in values:
        whole["page-range"] = tuple(_RANGE.sub(_range, found) for found in values["page-range"])
    return whole


def _range(found: re.Match[str]) -> str:
    return f"{found[1]}-{_in_full(found[1], found[2])}"


def _in_full(first: str, last: str) -> str:
    shortened = first.isdigit() and last.isdigit() and len(last) < len(first)
    return first[: len(first) - len(last)] + last if shortened else last
