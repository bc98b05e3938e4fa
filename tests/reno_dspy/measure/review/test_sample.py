"""Review of wrong values: the sample, the page in a real browser, and the corrected precision."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reno_dspy.base.errors import InputError
from reno_dspy.base.rundir import RunDir
from reno_dspy.cli.review import command
from reno_dspy.measure.review.sample import draw, export, read_verdicts

CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 240_000


def _record(i: int) -> dict[str, Any]:
    """A reference whose gold lacks the year; every fifth also has a wrong volume."""
    year, volume = 1950 + i % 60, i + 1
    text = f"Smith A. On </script> things. J Made Up. {year};{volume}."
    gold = f"<mixed-citation><surname>Smith</surname><volume>{volume}</volume></mixed-citation>"
    said = volume if i % 5 else 0
    prediction = (
        f"<mixed-citation><surname>Smith</surname><year>{year}</year><volume>{said}</volume>"
        f"<source>=J Made Up</source></mixed-citation>"
    )
    return {"index": i, "plaintext": text, "xml": gold, "prediction": prediction}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    with (
        RunDir.open(path, "evaluate", {"profile": "paper"}, depends_on={}) as directory,
        directory.log("predictions.jsonl").appending() as log,
    ):
        for i in range(100):
            log.write(_record(i))
    return path


@pytest.fixture
def page(run: Path) -> Iterator[Any]:
    """The page of a review of 12 values, opened from disk with the network off."""
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium")
    from playwright.sync_api import sync_playwright

    _, file = export(draw(run, 12), run.parent / "review")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            timeout=PATIENCE_MS,
        )
        context = browser.new_context(offline=True, accept_downloads=True)
        context.set_default_timeout(PATIENCE_MS)
        opened = context.new_page()
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("console", lambda message: problems.append(message.text))
        opened.goto(file.as_uri())
        yield opened
        browser.close()
        assert problems == []


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def _write(path: Path, rows: list[dict[str, str]], delimiter: str = ",", bom: str = "") -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(bom + out.getvalue(), encoding="utf-8")


def test_every_field_has_its_share(run: Path) -> None:
    sample = draw(run, 75)
    assert sample.totals["year"] == (0, 100)
    assert sample.totals["volume"] == (80, 20)
    assert sample.totals["surname"] == (100, 0)
    assert Counter(f.field for f in sample.findings) == {"volume": 20, "year": 27, "source": 28}
    assert len(draw(run, 1000).findings) == 220


def test_the_seed_decides(run: Path) -> None:
    assert draw(run, 30, seed=1) == draw(run, 30, seed=1)
    assert draw(run, 30, seed=1) != draw(run, 30, seed=2)


def test_the_table_has_the_context_and_no_formula(run: Path) -> None:
    table, _ = export(draw(run, 30), run.parent / "review")
    row = next(row for row in _rows(table) if row["field"] == "source")
    assert row["value"] == "'=J Made Up"
    assert row["reference"].startswith("Smith A. On </script> things.")
    assert row["gold_values"] == ""
    assert row["gold_xml"].startswith("<mixed-citation><surname>Smith")


def test_a_review_is_not_overwritten(run: Path) -> None:
    export(draw(run, 30), run.parent / "review")
    with pytest.raises(InputError, match="already holds a review"):
        export(draw(run, 30), run.parent / "review")


def test_verdicts_correct_the_precision(run: Path) -> None:
    out = run.parent / "review"
    assert (
        "60 of 220 wrong values"
        in _invoke("export", str(run), "--n", "60", "--out", str(out)).stdout
    )
    rows = _rows(out / "review.csv")
    for i, row in enumerate(rows):
        row["verdict"] = (
            "wrong" if row["field"] == "volume" else ("right", " Right ", "unclear")[i % 3]
        )
    _write(out / "verdicts.csv", rows, delimiter=";", bom="\ufeff")
    result = read_verdicts(out / "verdicts.csv")
    volume, year, surname = result["volume"], result["year"], result["surname"]
    assert (volume.precision, volume.corrected) == (0.8, 0.8)
    assert volume.interval is not None
    assert volume.interval.low == volume.interval.high == 0.8  # all of its wrong values were judged
    assert (year.precision, year.corrected) == (0, 1)
    assert year.unclear > 0
    assert year.interval is not None
    assert 0.7 < year.interval.low < 1
    assert (surname.precision, surname.corrected) == (1, 1)
    overall = result["overall"]
    assert overall.precision == pytest.approx(180 / 400)
    assert overall.corrected == pytest.approx(380 / 400)
    shown = _invoke("import", str(out / "verdicts.csv"), "--no-tracking").stdout
    assert "overall" in shown
    assert "95.0" in shown
    parsed = json.loads(
        _invoke("import", str(out / "verdicts.csv"), "--json", "--no-tracking").stdout
    )
    assert parsed["year"]["corrected"] == 1


def test_a_prediction_of_any_length_comes_back(run: Path) -> None:
    with RunDir.open(run, "evaluate", {"profile": "paper"}, depends_on={}) as directory:
        long = _record(0) | {"prediction": f"<m><year>{'9' * 200_000}</year></m>"}
        directory.log("predictions.jsonl").replace([long])
    table, _ = export(draw(run, 30), run.parent / "review")
    assert read_verdicts(table)["year"].wrong == 1


def test_without_verdicts_nothing_is_corrected(run: Path) -> None:
    table, _ = export(draw(run, 30), run.parent / "review")
    result = read_verdicts(table)
    assert result["year"].corrected is None
    assert result["overall"].corrected is None
    assert result["overall"].precision == pytest.approx(180 / 400)
    assert "–" in _invoke("import", str(table), "--no-tracking").stdout


def test_tables_that_cannot_be_read_are_said(run: Path, tmp_path: Path) -> None:
    table, _ = export(draw(run, 30), run.parent / "review")
    rows, bad = _rows(table), tmp_path / "bad.csv"
    for name, value, message in (
        ("verdict", "maybe", "bad.csv:2: verdict 'maybe'"),
        ("field", "pages", "bad.csv:2: no field 'pages'"),
        ("totals", "surname many", "must stay as exported"),
        ("id", rows[1]["id"], "more than one row"),
    ):
        _write(bad, [{**rows[0], name: value}, *rows[1:]])
        with pytest.raises(InputError, match=message):
            read_verdicts(bad)
    nothing_wrong = "; ".join(f"{name} 1 0" for name in draw(run, 30).totals)
    _write(bad, [{**rows[0], "totals": nothing_wrong, "verdict": "right"}, *rows[1:]])
    with pytest.raises(InputError, match=r"judges 1 values of .* only 0 wrong ones"):
        read_verdicts(bad)
    bad.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column field, id, totals, verdict"):
        read_verdicts(bad)
    with pytest.raises(InputError, match="Cannot read"):
        read_verdicts(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is it an evaluation"):
        draw(tmp_path)


def test_the_page_keeps_verdicts_and_gives_them_back(page: Any, tmp_path: Path) -> None:
    assert page.locator("#count").inner_text() == "1 of 12 · 0 of 12 judged"
    page.keyboard.press("1")
    page.locator("[data-verdict=wrong]").click()
    page.keyboard.press("3")
    page.locator("#note").fill('a "note", 1')  # keys in the note are no verdicts
    page.reload()
    assert page.locator("#count").inner_text() == "1 of 12 · 3 of 12 judged"
    assert page.locator("[data-verdict=right]").get_attribute("aria-pressed") == "true"
    page.locator("#filter").select_option("year")
    assert page.locator("#field").inner_text() == "year"
    mark = page.locator("#reference mark").inner_text()
    assert mark == page.locator("#value").inner_text()
    with page.expect_download() as download:
        page.locator("#download").click()
    file = tmp_path / "verdicts.csv"
    download.value.save_as(file)
    rows = _rows(file)
    assert [row["verdict"] for row in rows[:4]] == ["right", "wrong", "unclear", ""]
    assert rows[3]["note"] == 'a "note", 1'
    assert rows[0]["reference"].startswith("Smith A. On </script> things.")
    judged = read_verdicts(file)["overall"]
    assert (judged.right_verdicts, judged.wrong_verdicts, judged.unclear) == (1, 1, 1)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_reads_well_narrow_and_wide(page: Any, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button").all():
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    folder = Path(os.environ.get("RENO_SCREENSHOTS") or tmp_path)
    screenshot = folder / f"review-{width}.png"
    page.screenshot(path=screenshot, full_page=True)
    assert screenshot.stat().st_size > 10_000
