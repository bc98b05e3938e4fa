"""`import reno_dspy as reno`: the README's example as printed, and what its functions promise."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import reno_dspy as reno
from reno_dspy.data.dataset import Row, save
from reno_dspy.systems import Completion

ROOT = Path(__file__).parents[3]
TEXT = "Ito K. Foxes of the north. J Fict Zool. 2010;12(3):200-9."
GOLD = (
    "<mixed-citation><surname>Ito</surname> <given-names>K</given-names>. <article-title>Foxes of the "
    "north</article-title>. <source>J Fict Zool</source>. <year>2010</year>;<volume>12</volume>("
    "<issue>3</issue>):<fpage>200</fpage>-<lpage>9</lpage>.</mixed-citation>"
)
ROWS = tuple(
    Row(None, TEXT.replace("2010", str(year)), GOLD.replace("2010", str(year)), "made", str(year),
        f"article-{year % 4}")
    for year in range(1990, 2002)
)  # fmt: skip


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set directory, in an own working directory."""
    monkeypatch.chdir(tmp_path)
    save({"train": ROWS[:4], "test": ROWS[4:]}, tmp_path / "my-benchmark", "Made up.\n", {})
    return tmp_path / "my-benchmark"


class Shouting:
    """A system of one's own: a class with the methods of the protocol."""

    name, batch_size, concurrency = "shouting", 1, 1

    def identity(self) -> Mapping[str, str]:
        return {"model": "shouting"}

    async def start(self) -> None: ...

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        return [
            Completion("", error="too quiet") if text.islower() else Completion(f"<m>{text}</m>")
            for text in references
        ]


def test_the_readme_example_runs_as_printed(benchmark: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (example,) = [block for block in blocks if "import reno_dspy as reno" in block]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        capture_output=True, text=True, cwd=benchmark.parent, check=True,
    )  # fmt: skip
    assert "('García', 'Ito')" in done.stdout
    assert done.stdout.endswith("100.0\n")
    assert done.stderr == ""  # no bars of a library


def test_it_works_inside_a_running_event_loop(benchmark: Path) -> None:
    async def cell() -> tuple[list[reno.Annotation], float | None]:
        found = reno.annotate([TEXT], system="crf")
        return found, reno.evaluate("crf", benchmark, split="test").fields["year"].value(
            "recall_strict"
        )

    found, recall = asyncio.run(cell())
    assert "<year>2010</year>" in (found[0].xml or "")
    assert recall == 100.0


def test_references_come_back_in_order_with_their_errors() -> None:
    found = reno.annotate(["[1] A", "b", "[3] \x00"], system=Shouting())
    assert [one.reference for one in found] == ["[1] A", "b", "[3] \x00"]
    assert [one.xml for one in found] == ["<m>[1] A</m>", None, None]
    assert found[1].error == "too quiet"
    assert "cannot stand in XML" in str(found[2].error)


def test_an_evaluation_of_ones_own_system_resumes(benchmark: Path) -> None:
    data = reno.load(benchmark, "test", limit=5)
    report = reno.evaluate(Shouting(), data, out="runs/mine")
    assert (report.n, report.system, report.share("valid_xml")) == (5, "shouting", 100.0)
    assert reno.evaluate(Shouting(), data, out="runs/mine") == report
    with pytest.raises(reno.InputError, match="another configuration"):
        reno.evaluate("crf", data, out="runs/mine")


def test_scores_of_rows_and_of_xml() -> None:
    rows = ROWS[:3]
    by_rows = reno.score(rows, [row.xml for row in rows[:2]] + [None])
    assert by_rows.fields["year"].value("recall_strict") == pytest.approx(200 / 3, abs=0.01)
    by_xml = reno.score(
        [row.xml for row in rows], [reno.Annotation("", row.xml, None) for row in rows]
    )
    assert (by_xml.overall.value("recall_strict"), by_xml.share("fidelity")) == (100.0, None)
    with pytest.raises(reno.InputError, match="2 predictions for 3"):
        reno.score(rows, ["", ""])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reno.annotate([TEXT], system="tager"), "Did you mean tagger"),
        (lambda: reno.annotate([TEXT], system="crf", api_base="http://h"), "crf takes no --api-base"),
        (lambda: reno.annotate([TEXT], system="crf", concurrency=0), "greater than or equal to 1"),
        (lambda: reno.annotate(TEXT), "a list of references"),
        (lambda: reno.load("nowhere.jsonl"), "does not exist"),
    ],
)  # fmt: skip
def test_wrong_requests_are_input_errors(
    call: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(reno.InputError, match=message):
        call()  # type: ignore[operator]


def test_importing_it_loads_nothing() -> None:
    code = (
        "import sys, reno_dspy as reno; assert {'annotate', 'score'} <= set(dir(reno)); "
        "sys.exit(' '.join(set(sys.modules) & {'pydantic', 'lxml', 'numpy', 'reno_dspy.api'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_the_function_is_not_hidden_by_the_room_of_its_name() -> None:
    from reno_dspy.annotate import job

    assert job.__name__ == "reno_dspy.annotate.job"
    assert reno.annotate.__module__ == "reno_dspy.api"
