"""What a comparison says first: the verdict, what differs in options and prompts, which answers changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reno_dspy.base.tracker import NullTracker
from reno_dspy.cli.compare import command
from tests.tracking.evaluations import evaluate_scripted, made_up_rows
from tracking.compare.changes import changes
from tracking.compare.compared import Compared
from tracking.compare.differing import options_grid, prompt_diffs
from tracking.compare.job import compare

CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 240_000


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Two runs that differ in their prompts, written to `out`."""
    folder = tmp_path_factory.mktemp("compared")
    common = "Annotate the reference.\n"
    for name, wrong, more in (("weak", 0.6, ""), ("tuned", 0.1, "Keep </script> as it is.\n")):
        evaluate_scripted(
            folder / name, NullTracker(), name, wrong=wrong, malformed=0.1, prompt=common + more
        )
    names = [str(folder / name) for name in ("weak", "tuned")]
    return compare(names, NullTracker(), out=folder / "out")


def test_the_verdict_stands_on_top(compared: Compared) -> None:
    text = (compared.out / "comparison.md").read_text()
    assert text.startswith("- tuned against weak: better. Whole references right +")
    [said] = compared.verdicts
    assert "Better in surname, article-title" in said
    assert "Worse in" not in said
    page = (compared.out / "comparison.html").read_text()
    assert page.index("tuned against weak: better.") < page.index("Table 1: Recall")


def test_only_options_that_differ_are_shown(compared: Compared) -> None:
    grid = options_grid(compared.results)
    assert grid is not None
    # The name of the system stands once, though the options and the identity have it.
    assert list(grid.heads) == ["Run", "system", "prompt_digest"]
    assert [cell.text for cell in grid.lines[1].cells] == ["tuned", "tuned-prompt"]
    assert options_grid(compared.results[:1]) is None


def test_prompts_are_shown_as_a_diff(compared: Compared) -> None:
    [diff] = prompt_diffs(compared.results)
    assert diff.label == "tuned"
    changed = [line for line in diff.lines if line[:1] in "+-"]
    assert changed == ["--- weak", "+++ tuned", "+Keep </script> as it is."]
    assert "+Keep </script> as it is." in (compared.out / "comparison.md").read_text()
    assert "+Keep &lt;/script&gt; as it is." in (compared.out / "comparison.html").read_text()


def test_many_runs_have_a_table_of_verdicts(tmp_path: Path) -> None:
    names = [str(tmp_path / str(number)) for number in range(6)]
    for number, name in enumerate(names):
        rows, prompt = made_up_rows(15), "Annotate.\n" + "Tag years.\n" * (number > 0)
        evaluate_scripted(Path(name), NullTracker(), f"s{number}", rows=rows, prompt=prompt)
    arguments = [*names, "--out", str(tmp_path / "out"), "--no-tracking"]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False, env={"COLUMNS": "120"})
    assert shown.output.startswith("Against s0")
    assert "too few articles to tell (3)" in " ".join(shown.output.split())
    assert "+++ s1 and 4 others" in shown.output, "runs with one prompt stand together"
    text = (tmp_path / "out" / "comparison.html").read_text()
    assert "Comparison: 6 runs on made-up-test" in text


def test_changes_go_both_ways(compared: Compared) -> None:
    [comparison], [found] = compared.comparisons, compared.changed
    assert found == changes(comparison)
    gained = sum("whole_right" in change.gained for change in found)
    lost = sum("whole_right" in change.lost for change in found)
    difference = comparison.differences["whole_right"]
    assert difference is not None
    assert gained - lost == round(difference.difference * comparison.n)
    for change in found:
        for name, before, after in [
            *((name, False, True) for name in change.gained if name == "surname"),
            *((name, True, False) for name in change.lost if name == "surname"),
        ]:
            scores = change.pair.first_score.fields[name], change.pair.other_score.fields[name]
            assert [one.lenient == one.gold == one.pred for one in scores] == [before, after]


@pytest.fixture
def page(compared: Compared) -> Iterator[Any]:
    """The page of changes, opened from disk with the network off."""
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            timeout=PATIENCE_MS,
        )
        opened = browser.new_context(offline=True).new_page()
        opened.set_default_timeout(PATIENCE_MS)
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("console", lambda message: problems.append(message.text))
        opened.goto((compared.out / "changes.html").as_uri())
        yield opened
        browser.close()
        assert problems == []


def test_changes_are_clicked_through_by_field(page: Any, compared: Compared) -> None:
    [found] = compared.changed
    assert page.locator("#count").inner_text() == f"1 of {len(found)}"
    assert page.locator("#run option").all_inner_texts() == [f"tuned ({len(found)})"]
    page.locator("#what").select_option("surname")
    page.locator("#direction").select_option("gained")
    gained = [change for change in found if "surname" in change.gained]
    assert page.locator("#count").inner_text() == f"1 of {len(gained)}"
    page.locator("#forward").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#count").inner_text() == f"2 of {len(gained)}"
    record = gained[1].pair.first
    assert page.locator("#reference").inner_text().startswith(record["plaintext"])
    row = page.locator("tr.changed", has_text="Surname")
    wrong, right = row.locator("td").nth(1), row.locator("td").nth(2)
    assert (wrong.get_attribute("class"), right.get_attribute("class")) == ("wrong", "right")
    assert wrong.inner_text().startswith("✗ Nome")
    page.locator("#what").select_option("issue")
    assert page.locator("#count").inner_text() == "No reference changed in this way."


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_changes_reads_well_narrow_and_wide(
    page: Any, tmp_path: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    folder = Path(os.environ.get("RENO_SCREENSHOTS") or tmp_path)
    page.screenshot(path=folder / f"changes-{width}.png", full_page=True)


def test_answers_cannot_end_the_page(tmp_path: Path) -> None:
    for name in ("one", "two"):
        evaluate_scripted(tmp_path / name, NullTracker(), name, wrong=0.5)
        path = tmp_path / name / "predictions.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        answers = {"one": records[0]["xml"], "two": "</script><script>alert(1)</script>"}
        records[0]["prediction"] = answers[name]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    compare([str(tmp_path / name) for name in ("one", "two")], NullTracker(), out=tmp_path / "out")
    text = (tmp_path / "out" / "changes.html").read_text()
    assert "alert(1)" in text
    assert "<script>alert" not in text
