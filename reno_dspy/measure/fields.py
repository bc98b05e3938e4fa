"""Which elements of an annotation are compared, and how their values are read.

`scored` are the fields of the paper's tables; `all` are the elements of `jats.elements` and the
publication type. Scored fields are read by their exact names, as in the paper. The other elements are
read under every name they are given (`ext-link` is a `uri`), and the wrappers around names are compared
by their letters and digits: what separates names in them is a matter of style.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from reno_dspy.jats.citation import Reading, Values
from reno_dspy.jats.elements import ELEMENTS, SCORED, WHOLE_PEOPLE, publication_type
from reno_dspy.jats.text import folded

Fields = Literal["scored", "all"]

PUBLICATION_TYPE = "publication-type"
FIELD_SETS: Mapping[Fields, tuple[str, ...]] = {
    "scored": SCORED,
    "all": (*(element.name for element in ELEMENTS), PUBLICATION_TYPE),
}
# NLM's element for a person, JATS's strict form of `string-name`.
_NAMES = {"string-name": ("name",)}
_READ_AS: Mapping[str, tuple[str, ...]] = {
    element.name: (element.name,)
    if element.scored
    else (element.name, *element.synonyms, *_NAMES.get(element.name, ()))
    for element in ELEMENTS
}
# Largest edit distance at which two values are the same (paper, notes to table 1). Other elements of the
# same kinds are compared alike.
THRESHOLDS: Mapping[str, int] = {
    element.name: {"title": 10, "translation": 10, "source": 5}.get(element.kind, 0)
    for element in ELEMENTS
}


def names_of(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The element names to read for these fields."""
    return tuple(name for field in fields for name in _READ_AS.get(field, ()))


def values_of(reading: Reading, fields: tuple[str, ...]) -> Values:
    """The values of each field, from a reading of `names_of(fields)`."""
    return {field: _values(reading, field) for field in fields}


def _values(reading: Reading, field: str) -> tuple[str, ...]:
    if field == PUBLICATION_TYPE:
        kind = None if reading.root is None else publication_type(reading.root)
        return () if kind is None else (kind,)
    values = tuple(value for name in _READ_AS[field] for value in reading.lenient[name])
    return tuple(map(folded, values)) if field in WHOLE_PEOPLE else values
