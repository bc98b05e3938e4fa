"""Every rule of the paper's section 2.3, on the cases given and on what real lists hold."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.build.filters import MALFORMED, RULES, check, tally
from reno_dspy.cli.main import group

JOURNAL = (
    '<mixed-citation publication-type="journal"><string-name><surname>Lumen</surname>, '
    "<given-names>H.</given-names></string-name> (<year>2014</year>). <article-title>Lanterns and "
    "memory</article-title>. <source>Annals of Folklore</source>, <volume>8</volume>, {pages}."
    "</mixed-citation>"
)
TEXT = "Lumen, H. (2014). Lanterns and memory. Annals of Folklore, 8, 12–30."


def with_pages(first: str, last: str) -> str:
    return JOURNAL.format(pages=f"<fpage>{first}</fpage>–<lpage>{last}</lpage>")


def test_a_clean_pair_passes() -> None:
    assert check(TEXT, with_pages("12", "30")) == ()


@pytest.mark.parametrize(
    ("first", "last", "reasons"),
    [
        ("123", "9", ()),
        ("1423", "31", ()),
        ("45", "12", ("reversed_pages",)),
        ("12", "12", ("identical_pages",)),
        ("S360", "71", ()),
        ("S360", "S12", ("reversed_pages",)),
        ("xi", "xxiv", ()),
        ("e01573", "20", ()),
        ("9998", "10001", ("page_too_large",)),
        ("12", "9" * 5000, ("page_too_large",)),
        ("9" * 5000, "9" * 5000, ("page_too_large", "identical_pages")),
    ],
)
def test_page_ranges(first: str, last: str, reasons: tuple[str, ...]) -> None:
    assert check(TEXT, with_pages(first, last)) == reasons


@pytest.mark.parametrize(
    ("year", "wrong"),
    [
        ("2020a", True), ("2020 a", True), ("Spring 2020", True), ("20144", True), ("0", True),
        ("s.d.", True), ("in press", True), ("9" * 5000, True), ("12/13", True),
        ("2019-2020", False), ("[1987]", False), ("1987/1989", False), ("2014.", False),
    ],
)  # fmt: skip
def test_years(year: str, wrong: bool) -> None:
    xml = with_pages("12", "30").replace("2014", year)
    assert ("invalid_year" in check(TEXT, xml)) == wrong


@pytest.mark.parametrize(
    ("surname", "given", "reason"),
    [
        ("HT", "Lumen", "initials_as_surname"),
        ("LI", "X.", None),
        ("Ng", "H.", None),
        ("et al", "", "etal_as_author"),
        ("al", "et", "etal_as_author"),
        ("y otros", "", "etal_as_author"),
        ("и др.", "", "etal_as_author"),
        ("等", "", "etal_as_author"),
        ("Al", "M.", None),
        ("Camargo", "U. A.", None),
        ("Lumen 2014", "H.", "year_in_author"),
    ],
)
def test_names(surname: str, given: str, reason: str | None) -> None:
    name = f"<surname>{surname}</surname> <given-names>{given}</given-names>"
    text = f"{surname} {given}. Lanterns. Annals, 2014."
    xml = (
        f"<mixed-citation><string-name>{name}</string-name>. <article-title>Lanterns"
        "</article-title>. <source>Annals</source>, <year>2014</year>.</mixed-citation>"
    )
    assert check(text, xml) == ((reason,) if reason else ())


@pytest.mark.parametrize(
    "attribute",
    ['publication-type="Journal"', 'publication-type="journal-article"', 'citation-type="journal"'],
)
def test_a_journal_is_one_however_it_is_spelled(attribute: str) -> None:
    xml = with_pages("12", "30").replace('publication-type="journal"', attribute)
    assert check(TEXT, xml) == ()
    assert check(TEXT, re.sub("<.page>.*?</.page>", "", xml)) == ("missing_pages",)


def test_a_month_of_many_digits_is_no_month() -> None:
    xml = with_pages("12", "30").replace("</year>", f"</year> <month>{'9' * 5000}</month>")
    assert check(TEXT, xml) == ("invalid_month",)


def test_all_reasons_are_given() -> None:
    xml = (
        '<mixed-citation publication-type="journal"><surname>Orrery</surname> <year>2014b</year> '
        "<source>Review of Pretend Optics</source></mixed-citation>"
    )
    assert check(TEXT, xml) == (
        "invalid_year", "missing_pages", "surname_mismatch", "source_mismatch",
    )  # fmt: skip


def test_without_a_plain_text_only_the_annotation_is_checked() -> None:
    assert check(None, with_pages("12", "30")) == ()


def test_anything_is_answered() -> None:
    assert check("", "no xml at all") == (MALFORMED,)
    assert check("", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>') == (MALFORMED,)


def test_tally_gives_both_shares() -> None:
    counts = tally([("invalid_year", "missing_pages"), ("missing_pages",), ()])
    assert counts["missing_pages"] == {
        "count": 2, "share_of_failed": 1.0, "share_of_reasons": 2 / 3,
    }  # fmt: skip
    assert tally([(), ()]) == {}


def test_the_given_cases(shared: Path) -> None:
    for line in (shared / "cases" / "filter_cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        reasons = check(case["plaintext"], case["xml"])
        assert ("reject" if reasons else "keep") == case["verdict"], case["id"]
        assert case["reason"] is None or case["reason"] in reasons, case["id"]


def test_every_rule_says_what_it_checks() -> None:
    assert all(rule.__doc__ for rule in RULES.values())


def test_the_command(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "plaintext": TEXT, "xml": with_pages("12", "30"), "source": "pkp"},
        {"id": "b", "plaintext": TEXT, "xml": with_pages("45", "12"), "source": "pkp"},
    ]
    pairs, kept = tmp_path / "pairs.jsonl", tmp_path / "kept.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = CliRunner().invoke(group, ["filter", str(pairs), "--json", "--keep", str(kept)])
    assert [json.loads(line) for line in result.output.splitlines()] == [
        {"id": "a", "verdict": "keep", "reasons": []},
        {"id": "b", "verdict": "reject", "reasons": ["reversed_pages"]},
    ]
    assert [json.loads(line)["id"] for line in kept.read_text(encoding="utf-8").splitlines()] == [
        "a"
    ]
    shown = CliRunner().invoke(group, ["filter", str(pairs)])
    assert "pkp: 1 of 2 pass (50.0%)" in shown.output
