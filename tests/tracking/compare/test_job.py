"""`reno compare`, as far as it can be seen without a browser."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError
from reno_dspy.base.tracker import NullTracker
from reno_dspy.cli.compare import command
from reno_dspy.measure.stats import in_words
from tests.tracking.evaluations import evaluate_scripted, made_up_rows
from tracking.compare.job import compare
from tracking.compare.leaderboard import leaderboard
from tracking.compare.results import check_comparable, load_results
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import run_id_of
from tracking.store import open_client


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """The run directories of a weak and a better system on the same data."""
    evaluate_scripted(tmp_path / "weak", NullTracker(), "weak", wrong=0.6, malformed=0.4)
    evaluate_scripted(tmp_path / "better", NullTracker(), "better", wrong=0.0, malformed=0.1)
    return [str(tmp_path / "weak"), str(tmp_path / "better")]


def test_tables_have_the_papers_layout_in_every_form(two: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [*two, "--published", "--out", str(out), "--no-tracking"]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False, env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    for title in ("Table 1: Recall", "Table 4: Precision (strict)"):
        assert title in shown.output
        assert title in (out / "comparison.md").read_text()
        assert title in (out / "comparison.html").read_text()
    heads = ["Surname", "Given", "Title", "Source", "Volume", "Issue", "Year"]
    table = shown.output.partition("Table 1: Recall")[2]
    assert table.splitlines()[2].split() == ["Model", "XML", *heads]
    assert max(map(len, shown.output.splitlines()[:-1])) <= 80
    report = json.loads((tmp_path / "better" / "report.json").read_text())
    rows = list(csv.DictReader(io.StringIO((out / "comparison.csv").read_text())))
    [row] = [
        row for row in rows
        if (row["model"], row["measure"], row["field"]) == ("better", "recall_strict", "year")
    ]  # fmt: skip
    assert float(row["value"]) == report["fields"]["year"]["recall_strict"]
    low, high = report["slices"]["source"]["ore"]["intervals"]["surname"]
    assert f"<small>{low:.0f}–{high:.0f}</small>" in (out / "comparison.html").read_text()
    assert sum(row["published"] == "True" for row in rows) == 11 * 29


def test_a_real_difference_is_named_and_equal_answers_are_noise(
    two: list[str], tmp_path: Path
) -> None:
    compared = compare(two, NullTracker(), out=tmp_path / "out")
    [comparison] = compared.comparisons
    surname, issue = comparison.differences["surname"], comparison.differences["issue"]
    assert surname is not None
    assert (surname.verdict, comparison.n) == ("better", 40)
    assert issue is not None
    assert issue.verdict == "noise"


def test_few_articles_do_not_pass_for_noise(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("weak", "better")]
    for name, wrong in zip(names, (1.0, 0.0), strict=True):
        evaluate_scripted(Path(name), NullTracker(), name, rows=made_up_rows(15), wrong=wrong)
    [comparison] = compare(names, NullTracker(), out=tmp_path / "out").comparisons
    assert in_words(comparison.differences["surname"]) == "too few articles to tell (3)"
    assert in_words(comparison.differences["issue"]) == "no difference beyond noise"
    assert in_words(None) == "not known"


def test_undefined_values_are_dashes(tmp_path: Path) -> None:
    rows = [
        row.__class__(**{**vars(row), "xml": row.xml.replace("issue>", "fpage>")})
        for row in made_up_rows(10)
    ]
    evaluate_scripted(tmp_path / "run", NullTracker(), "s", rows=rows)
    compared = compare([str(tmp_path / "run")], NullTracker(), out=tmp_path / "out")
    assert compared.results[0].report.estimate("issue", "recall_lenient").value is None
    assert "| – |" in (tmp_path / "out" / "comparison.md").read_text()


def test_other_data_or_profiles_are_refused_unless_allowed(two: list[str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    evaluate_scripted(other, NullTracker(), "weak", rows=made_up_rows(20), data="smaller")
    names = [two[0], str(other)]
    with pytest.raises(InputError, match="different data sets") as error:
        compare(names, NullTracker(), out=tmp_path / "out")
    assert "--allow-different" in str(error.value)
    assert not (tmp_path / "out").exists()
    compared = compare(names, NullTracker(), out=tmp_path / "out", allow_different=True)
    assert compared.warning
    for form in ("md", "html"):
        assert "different data sets" in (tmp_path / "out" / f"comparison.{form}").read_text()


def test_another_comparison_in_the_way_is_replaced_on_request(
    two: list[str], tmp_path: Path
) -> None:
    arguments = ["--out", str(tmp_path / "out"), "--no-tracking"]

    def invoke(*more: str) -> None:
        CliRunner().invoke(command, [*more, *arguments], catch_exceptions=False)

    invoke(two[0])
    invoke(two[0])
    with pytest.raises(InputError, match=r"runs: (.|\n)*--fresh"):
        invoke(*two)
    invoke(*two, "--fresh")
    assert "better minus weak" in (tmp_path / "out" / "comparison.md").read_text()


def test_names_in_brackets_are_no_markup(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("one", "two")]
    for name, system in zip(names, ("[/one]", "[bold]two"), strict=True):
        evaluate_scripted(Path(name), NullTracker(), system)
    arguments = [*names, "--out", str(tmp_path / "out"), "--no-tracking"]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False, env={"COLUMNS": "120"})
    assert "[bold]two minus [/one]" in shown.output


def test_equal_systems_get_labels_that_differ(two: list[str], tmp_path: Path) -> None:
    evaluate_scripted(tmp_path / "again", NullTracker(), "weak")
    labels = [result.label for result in load_results([two[0], str(tmp_path / "again")])]
    assert labels[0].startswith("weak (")
    assert len(set(labels)) == 2


def test_what_is_no_evaluation_is_refused(tmp_path: Path, store: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no report\.json"):
        load_results([str(tmp_path / "empty")])
    (tmp_path / "empty" / "report.json").write_text('{"n": 3}')
    with pytest.raises(InputError, match="not a report"):
        load_results([str(tmp_path / "empty")])


def test_runs_are_found_in_mlflow_and_the_comparison_is_kept_there(
    two: list[str], tmp_path: Path, anywhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", anywhere)
    tracker = MlflowTracker()
    out = tmp_path / "tracked"
    evaluate_scripted(out, tracker, "weak", wrong=0.6, malformed=0.4)
    by_id, by_folder = load_results([str(run_id_of(out)), str(out)])
    assert by_id.report == by_folder.report
    assert by_id.link == by_folder.link
    check_comparable([by_id, by_folder])
    compare([two[1], str(run_id_of(out))], tracker, out=tmp_path / "kept")
    kept = open_client().get_run(str(run_id_of(tmp_path / "kept")))
    assert kept.data.tags["uses.runs"] == run_id_of(out)
    assert kept.data.metrics["difference/recall/lenient/surname"] < 0
    names = {item.path for item in open_client().list_artifacts(kept.info.run_id)}
    assert {"comparison.html", "comparison.md", "comparison.csv"} <= names
    assert "difference/whole_right" in kept.data.metrics


def test_a_run_is_found_by_a_name_with_slashes(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    monkeypatch.chdir(tmp_path)
    evaluate_scripted(tmp_path / "run", MlflowTracker(), "Qwen/Qwen3-0.6B")
    # A folder of that name that holds no evaluation is not in the way.
    (tmp_path / "Qwen" / "Qwen3-0.6B on made-up-test (40)").mkdir(parents=True)
    [result] = load_results(["Qwen/Qwen3-0.6B on made-up-test (40)"])
    assert (result.label, result.run_id) == ("Qwen/Qwen3-0.6B", run_id_of(tmp_path / "run"))
    with pytest.raises(InputError, match=r"runs/typo is not the directory .* No run 'runs/typo'"):
        load_results(["runs/typo"])


def test_runs_of_a_moved_project_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    monkeypatch.chdir(old)
    evaluate_scripted(old / "runs" / "one", MlflowTracker(), "one")
    run_id = str(run_id_of(old / "runs" / "one"))
    old.rename(new)
    monkeypatch.chdir(new)
    [result] = load_results([run_id])
    assert result.predictions is not None
    assert leaderboard(open_client()).rows[0].report == result.report
    (new / "mlruns" / "artifacts").rename(new / "gone")
    with pytest.raises(InputError, match="its files were moved"):
        load_results([run_id])


def test_directories_are_compared_without_mlflow(two: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mlflow'] = None; sys.argv[0] = 'reno'\n"
        "from reno_dspy.cli.main import main; main()"
    )
    command = [sys.executable, "-c", code, "compare", *two, "--out", str(tmp_path / "c")]
    done = subprocess.run(
        [*command, "--no-tracking"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "better minus weak" in " ".join(done.stdout.split())


@pytest.mark.parametrize("width", [40, 60, 80])
def test_narrow_terminals_keep_the_names(two: list[str], tmp_path: Path, width: int) -> None:
    arguments = [*two, "--published", "--out", str(tmp_path / "out"), "--no-tracking"]
    shown = CliRunner().invoke(command, arguments, env={"COLUMNS": str(width)})
    tables = [part for part in shown.output.split("\n\n") if "Written" not in part]
    assert max(len(line.rstrip()) for part in tables for line in part.splitlines()) <= width
    assert all("weak" in part or "Surname" in part or "Dim rows" in part for part in tables)
    assert {"Year", "Volume", "GROBID", "Cost", "Tokens", "p"} <= set(shown.output.split())


def test_tokens_and_cost_stand_beside_the_scores(tmp_path: Path) -> None:
    evaluate_scripted(tmp_path / "run", NullTracker(), "one")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert (report["prompt_tokens"], report["completion_tokens"]) == (None, 360)
    (tmp_path / "run" / "report.json").write_text(json.dumps(report | {"cost": 0.0123}))
    compare([str(tmp_path / "run")], NullTracker(), out=tmp_path / "out")
    text = (tmp_path / "out" / "comparison.md").read_text()
    [line] = [line for line in text.splitlines() if "$0.0123" in line]
    assert line.split(" | ")[-3:] == ["–", "360", "$0.0123 |"]


def test_other_fields_have_tables_of_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        evaluate_scripted(tmp_path / name, NullTracker(), name, fields="all")
    compare([str(tmp_path / name) for name in ("one", "two")], NullTracker(), out=tmp_path / "out")
    text = (tmp_path / "out" / "comparison.md").read_text()
    table = text.partition("Other fields: recall")[2]
    heads = next(line for line in table.splitlines() if "Model" in line)
    assert heads.split(" | ")[2:] == ["string-name |"], "no other element is in these rows"


def test_metrics_in_mlflow_equal_the_report(anywhere: str, tmp_path: Path) -> None:
    report = evaluate_scripted(tmp_path / "run", MlflowTracker(anywhere), "s", malformed=0.3)
    client = open_client(anywhere)
    [run] = client.search_runs([client.get_experiment_by_name("reno/evaluate").experiment_id])
    logged = run.data.metrics
    expected = {name: v for name, v in report.to_metrics().items() if v is not None}
    assert {name: logged[name] for name in expected} == expected
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    for field, values in written["fields"].items():
        assert logged[f"recall/strict/{field}"] == values["recall_strict"]
