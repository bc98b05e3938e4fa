"""The people of a citation: who has which surname and given names, and in which role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reno_dspy.jats.citation import Element, name_of, text_of
from reno_dspy.jats.elements import PERSON_ROLES

_NAMES = ("surname", "given-names")
_WRAPPERS = ("name", "string-name")
_GROUP = "person-group"


@dataclass(frozen=True)
class Person:
    """One person; `role` is `author` where the annotation does not say."""

    role: str
    surnames: tuple[str, ...]
    given_names: tuple[str, ...]


def people(root: Element) -> list[Person] | None:
    """The people in document order; those named as a whole (no surname, no given names) are left out.

    None where names stand outside `name` and `string-name`, so that nobody can tell which belong
    together.
    """
    found: dict[Element, list[Element]] = {}
    for part in root.iter(*(f"{{*}}{name}" for name in _NAMES)):
        person = _wrapper(part)
        if person is None:
            return None
        found.setdefault(person, []).append(part)
    return [_person(wrapper, parts) for wrapper, parts in found.items()]


def _wrapper(part: Element) -> Element | None:
    return next((one for one in part.iterancestors() if name_of(one) in _WRAPPERS), None)


def _person(wrapper: Element, parts: list[Element]) -> Person:
    surnames, given = (tuple(_values(parts, name)) for name in _NAMES)
    return Person(_role(wrapper), surnames, given)


def _values(parts: list[Element], name: str) -> Iterator[str]:
    return (text for part in parts if name_of(part) == name and (text := text_of(part)))


def _role(wrapper: Element) -> str:
    """JATS leaves `@person-group-type` open: `Editors` and `editor` are one role."""
    group = next((one for one in wrapper.iterancestors() if name_of(one) == _GROUP), None)
    said = (group.get("person-group-type") if group is not None else None) or "author"
    role = said.strip().lower()
    single = role.removeprefix("all").removesuffix("s")
    return single if single in PERSON_ROLES else role
