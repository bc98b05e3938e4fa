"""Who is named in a citation, and as what."""

from __future__ import annotations

from reno_dspy.jats.citation import parse
from reno_dspy.jats.people import Person, people


def of(inner: str) -> list[Person] | None:
    return people(parse(f"<mixed-citation>{inner}</mixed-citation>"))


def test_people_have_names_and_roles() -> None:
    assert of(
        '<person-group person-group-type="author"><name><surname>Ito</surname>'
        "<given-names>K.</given-names></name><collab>The Group</collab><etal/></person-group>"
        '<person-group person-group-type="Editors"><string-name><given-names>A</given-names> '
        "<surname>Cruz</surname></string-name></person-group>"
        "<string-name><surname>Vale</surname></string-name>"
    ) == [
        Person("author", ("Ito",), ("K.",)),
        Person("editor", ("Cruz",), ("A",)),
        Person("author", ("Vale",), ()),
    ]


def test_people_named_as_a_whole_are_left_out() -> None:
    assert of("<string-name>Ito K.</string-name><person-group>Vale A.</person-group>") == []


def test_names_outside_a_person_belong_to_nobody() -> None:
    assert of("<surname>Ito</surname><given-names>K</given-names>") is None
