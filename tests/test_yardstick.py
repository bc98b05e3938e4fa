"""The yardstick's own counting, by hand."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

GOLD = (
    '<mixed-citation publication-type="journal"><label>1.</label> <person-group '
    'person-group-type="author"><string-name><surname>Ito</surname>, <given-names>K.</given-names>'
    "</string-name>, <string-name><surname>Oe</surname>, <given-names>H.</given-names></string-name>"
    "</person-group> <article-title>Foxes</article-title>. <source>J Fict</source> <year>2001</year>."
    "</mixed-citation>"
)


@pytest.fixture(scope="module")
def yardstick() -> Iterator[ModuleType]:
    path = Path(__file__).parents[1] / "benchmarks" / "yardstick.py"
    spec = importlib.util.spec_from_file_location("yardstick", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["yardstick"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["yardstick"]


def case(yardstick: ModuleType, *accept: dict[str, list[str]]) -> object:
    gold = yardstick.values_of(GOLD)
    readings = (gold, *({**gold, **other} for other in accept))
    return yardstick.Case(
        "verified", "", {"kind": "", "language": "", "source": ""}, readings, None
    )


def test_a_right_answer(yardstick: ModuleType) -> None:
    counts = yardstick.score(case(yardstick), GOLD).counts
    assert counts["exact"] == (14.0, 14.0)
    assert counts["whole"] == (1.0, 1.0)
    assert counts["people"] == (4.0, 4.0)
    # The seven fields' values, the label and the type.
    assert counts["all"] == (18.0, 18.0)


def test_punctuation_at_an_edge_is_folded(yardstick: ModuleType) -> None:
    counts = yardstick.score(case(yardstick), GOLD.replace("Foxes<", "Foxes.<")).counts
    assert counts["exact"] == (12.0, 14.0)
    assert counts["folded"] == (14.0, 14.0)
    assert (counts["whole"][0], counts["whole_folded"][0]) == (0.0, 1.0)


def test_a_person_is_one_name_of_one_role(yardstick: ModuleType) -> None:
    parted = GOLD.replace(", <given-names>H.", "</string-name>, <string-name><given-names>H.")
    counts = yardstick.score(case(yardstick), parted).counts
    assert counts["whole"] == (1.0, 1.0)
    assert counts["people"] == (2.0, 5.0)
    editors = GOLD.replace('"author"', '"editor"')
    assert yardstick.score(case(yardstick), editors).counts["people"][0] == 0


def test_other_readings_are_accepted(yardstick: ModuleType) -> None:
    answer = GOLD.replace("<article-title>Foxes</article-title>", "Foxes")
    assert yardstick.score(case(yardstick), answer).counts["whole"][0] == 0
    accepting = case(yardstick, {"article-title": []})
    assert yardstick.score(accepting, answer).counts["whole"] == (1.0, 1.0)
    assert yardstick.score(accepting, GOLD).counts["whole"] == (1.0, 1.0)


def test_no_xml_has_nothing_right(yardstick: ModuleType) -> None:
    counts = yardstick.score(case(yardstick), "<mixed-citation>").counts
    assert counts["exact"] == (0.0, 7.0)


def test_the_report_names_every_set(yardstick: ModuleType, shared: Path) -> None:
    cases = yardstick.main_cases(shared)
    assert len(cases) == 205 + 36 + 41
    assert sum(len(c.readings) > 1 for c in cases) == 20
    scored = [yardstick.score(c, "<mixed-citation/>") for c in cases]
    text = yardstick.report({"nothing": scored}, cases)
    assert "**verified** (n = 205)" in text
    assert "hard_cases_2 by kind" in text
    assert "| nothing | 0.0 (0–0) |" in text
