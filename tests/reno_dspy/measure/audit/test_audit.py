"""The audit of a gold with known errors: what it finds, what it leaves, and the gold that it corrects."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError
from reno_dspy.cli.main import group
from reno_dspy.jats.citation import read
from reno_dspy.measure.audit.ballots import read_ballots
from reno_dspy.measure.audit.corrected import corrected
from reno_dspy.measure.audit.findings import Finding, audit, wrong_values
from reno_dspy.measure.audit.votes import RULES, ballot, kind_by_rules

ROLE = '<person-group person-group-type="author">'


def annotation(i: int, **changed: str) -> str:
    """The right annotation of reference `i`, with some of its parts changed."""
    parts = {
        "label": f"<label>{i}.</label>",
        "surname": f"<surname>Name{chr(97 + i)}</surname>",
        "given": "<given-names>A</given-names>",
        "title": f"<article-title>Tides of a sea {i}</article-title>.",
        "source": "<source>Mar Tales</source>.",
        "volume": f"<volume>{i + 20}</volume>",
        "kind": "journal",
    } | changed
    return (
        f'<mixed-citation publication-type="{parts["kind"]}">{parts["label"]} {ROLE}<string-name>'
        f"{parts['surname']} {parts['given']}</string-name></person-group>. {parts['title']} "
        f"{parts['source']} <year>{1990 + i}</year>;{parts['volume']}.</mixed-citation>"
    )


# What is wrong in the gold: a label untagged, a full stop in a title, a volume in the source, the type.
GOLD: dict[int, str] = {
    1: annotation(1, label="1."),
    2: annotation(2, title="<article-title>Tides of a sea 2.</article-title>"),
    3: annotation(3, source="<source>Mar Tales. 1993;23</source>", volume="").replace(
        " <year>1993</year>;.", "."
    ),
    4: annotation(4, kind="book"),
}
# The systems agree on an error in 5, and each has one of its own in 6.
BOTH = {5: annotation(5, volume="<issue>25</issue>")}
ONE = {6: annotation(6, source="<publisher-name>Mar Tales</publisher-name>.")}
OTHER = {6: annotation(6, source="<conf-name>Mar Tales</conf-name>.")}


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    """The predictions of two systems on 20 references, both right but for the above."""
    files = []
    for name, own in (("one", ONE), ("other", OTHER)):
        answers = {i: annotation(i) for i in range(1, 21)} | BOTH | own
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(_line(i, answer) for i, answer in answers.items()))
        files.append(file)
    return files


def _line(i: int, answer: str) -> str:
    record = {
        "id": f"r{i}",
        "plaintext": read(annotation(i)).text,
        "xml": GOLD.get(i, annotation(i)),
        "prediction": answer,
    }
    return json.dumps(record) + "\n"


def found_in(findings: list[Finding]) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """(row, element, value) -> what it replaces."""
    return {(str(f.ballot.record["id"]), f.field, f.value): f.replaces for f in findings}


def test_what_systems_agree_on_and_the_gold_has_not_is_found(systems: list[Path]) -> None:
    findings = audit(read_ballots(systems))
    found = found_in(findings)
    assert found[("r1", "label", "1.")] == ()
    assert found[("r2", "article-title", "Tides of a sea 2")] == (
        "article-title: Tides of a sea 2.",
    )
    whole = "source: Mar Tales. 1993;23"
    assert found[("r3", "source", "Mar Tales")] == found[("r3", "volume", "23")] == (whole,)
    assert found[("r4", "publication-type", "journal")] == ("publication-type: book",)
    assert found[("r5", "issue", "25")] == ("volume: 25",), "what both have wrong is found as well"
    assert not [key for key in found if key[0] in ("r6", "r7")]
    by_row = {str(f.ballot.record["id"]): f for f in findings}
    assert by_row["r2"].supporters == {"one.jsonl", "other.jsonl", RULES}
    # Nothing in the gold confirms an issue; a title is confirmed 19 times, and by the rules.
    assert by_row["r5"].sure < by_row["r2"].sure
    assert [f.sure for f in findings] == sorted((f.sure for f in findings), reverse=True)


def test_fewer_findings_with_more_voters_or_more_surety(systems: list[Path]) -> None:
    ballots = read_ballots(systems)
    assert len(audit(ballots, sure=0.99)) < len(audit(ballots)) < len(audit(ballots, voters=1))
    three = found_in(audit(ballots, voters=3))
    assert set(three) == {
        ("r1", "label", "1."),
        ("r2", "article-title", "Tides of a sea 2"),
        ("r4", "publication-type", "journal"),
    }


def test_the_share_of_wrong_values_that_are_the_golds(systems: list[Path]) -> None:
    ballots = read_ballots(systems)
    # Five values of both are not in the gold, and one of each system alone.
    assert wrong_values(ballots, audit(ballots)) == {"one.jsonl": (7, 6), "other.jsonl": (7, 6)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ito K. Foxes. Tese (Doutorado), 1999.", "thesis"),
        ("Ito K. Foxes. Discussion Paper 7, 1999.", "report"),
        ("Ito K. Foxes. 1999.", None),
    ],
)
def test_types_by_words(text: str, expected: str | None) -> None:
    assert kind_by_rules(text, {}) == expected


def test_gold_that_is_not_in_the_text_is_kept(systems: list[Path]) -> None:
    text = read(annotation(7)).text or ""
    row = {
        "id": "1",
        "row": "r7",
        "field": "label",
        "value": "7.",
        "start": "0",
        "end": "2",
        "role": "",
        "verdict": "right",
        "reference": text,
        "gold_xml": annotation(7, label="7.").replace("Mar Tales", "Marine &amp; Tales of Old"),
    }
    [made] = corrected([row])
    values = read(made["xml"], ("label", "source", "volume")).strict
    assert values == {"label": ("7.",), "source": ("Marine & Tales of Old",), "volume": ("27",)}
    with pytest.raises(InputError, match=r"Finding 1: '7\.' does not stand at its place"):
        list(corrected([row | {"start": "4"}]))


def test_a_gold_out_of_reach_is_no_ballot() -> None:
    assert ballot({"xml": "<m>", "plaintext": "x"}, {}) is None
    assert ballot({"xml": "<m/>", "plaintext": "\x00"}, {}) is None


def run(*arguments: object) -> Any:
    return CliRunner().invoke(group, [str(one) for one in arguments], catch_exceptions=False)


def judge(table: Path, verdict: Callable[[dict[str, str]], str]) -> Path:
    """The table with its verdicts filled in, as a spreadsheet leaves it."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["verdict"] = verdict(row)
    judged = table.with_name("verdicts.csv")
    with judged.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return judged


def test_verdicts_give_the_corrected_gold(systems: list[Path], tmp_path: Path) -> None:
    shown = run("audit", *systems, "--out", tmp_path / "audit").output
    assert "7 findings" in shown
    assert "one.jsonl: 7 values are not in the gold; of 6 (85.7%) the audit says" in shown
    with pytest.raises(InputError, match="already holds"):
        run("audit", *systems, "--out", tmp_path / "audit")
    table = judge(
        tmp_path / "audit" / "audit.csv", lambda row: "wrong" if row["row"] == "r5" else "right"
    )
    shown = run("review", "import", table)
    assert "4 references with corrected gold" in shown.stderr
    assert shown.stdout.splitlines()[-1].split() == ["overall", "7", "6", "1", "0", "85.7"]
    gold = tmp_path / "audit" / "corrected.jsonl"
    for line in gold.read_text().splitlines():
        row = json.loads(line)
        i = int(row["id"].removeprefix("r"))
        assert row["xml"] == annotation(i), "the gold as it should have been"
        assert row["was"] == GOLD[i]
    before, after = (
        json.loads(run("score", systems[0], "--json", *more).stdout)
        for more in ((), ("--gold", gold))
    )
    # The gold errs in the seven fields of 2 and 3, the system in those of 5 and 6.
    assert (before["whole_right"], after["whole_right"]) == (80.0, 90.0)


def test_an_evaluation_is_measured_on_corrected_gold(systems: list[Path], tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(systems[0].read_text())
    gold = tmp_path / "better.jsonl"
    rows = [{"plaintext": read(annotation(i)).text, "xml": annotation(i)} for i in (1, 2, 99)]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["evaluate", "--system", "crf", "--data", data, "--no-tracking"]
    shown = run(*arguments, "--gold", gold, "--out", tmp_path / "run")
    assert "2 of 20 references have their gold from" in shown.stderr
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["data"] == "data+better"
    records = [
        json.loads(line)
        for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()
    ]
    assert [record["xml"] for record in records[:2]] == [annotation(1), annotation(2)]
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"plaintext": "nothing of these", "xml": "<m/>"}))
    with pytest.raises(InputError, match="No reference of"):
        run(*arguments, "--gold", other, "--out", tmp_path / "run2")


def test_what_cannot_be_audited_is_said(systems: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two systems"):
        read_ballots(systems[:1])
    other = tmp_path / "elsewhere.jsonl"
    other.write_text(json.dumps({"plaintext": "x", "xml": "<m/>", "prediction": ""}))
    with pytest.raises(InputError, match="no reference in common"):
        read_ballots([systems[0], other])
    run("audit", *systems, "--out", tmp_path / "audit")
    table = judge(tmp_path / "audit" / "audit.csv", lambda row: "perhaps")
    with pytest.raises(InputError, match=r"verdicts\.csv:2: verdict 'perhaps'"):
        run("review", "import", table)
    nothing = judge(tmp_path / "audit" / "audit.csv", lambda row: "")
    assert "0 references with corrected gold: none" in run("review", "import", nothing).stderr
