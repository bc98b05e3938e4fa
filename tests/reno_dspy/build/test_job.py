"""The whole build on the sample corpus: contract, determinism, resumption, and bad articles."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.tracker import NullTracker
from reno_dspy.build.config import STAGES, BuildConfig
from reno_dspy.build.job import Built, build
from reno_dspy.cli.main import group
from reno_dspy.data.dataset import Row, load, save

PUBLISHED = ["citing_article_doi", "plaintext", "xml", "source"]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RENO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def run(corpus: Path, out: Path, **options: Any) -> Built:
    fresh = options.pop("fresh", False)
    programs = {name: options.pop(name) for name in ("extractor", "describer") if name in options}
    named = dict.fromkeys(programs, "scripted")
    config = BuildConfig(corpus=corpus, out=out, **({"workers": 1} | named | options))
    return build(config, NullTracker(), fresh=fresh, **programs)


@pytest.fixture(scope="module")
def built(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return run(corpus, tmp_path_factory.mktemp("build") / "whole")


def rows_of(built: Built, stage: str) -> list[dict[str, Any]]:
    return list(built.stages[stage].rows())


def test_the_data_set_loads_everywhere(built: Built) -> None:
    import datasets

    loaded = datasets.load_dataset(str(built.path), cache_dir=str(built.path.parent / "hf"))
    assert {name: len(rows) for name, rows in loaded.items()} == dict(built.rows)
    assert loaded["test"].column_names[:4] == PUBLISHED
    ours = load(str(built.path), "test")
    assert [row.plaintext for row in ours.rows] == loaded["test"]["plaintext"]
    assert sum(built.rows.values()) >= 200


def test_a_data_set_of_the_same_name_is_not_taken_for_another(tmp_path: Path) -> None:
    """`datasets` keeps what it loaded by the folder's name; the card makes the difference."""
    import datasets

    for place, texts in (("one", ["a"]), ("two", ["b", "c"])):
        folder = tmp_path / place / "references"
        rows = [Row(None, text, "<mixed-citation/>", "pkp") for text in texts]
        save({"test": rows}, folder, "", {})
        loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
        assert loaded["test"]["plaintext"][:] == texts


def test_splits_share_no_article_and_no_text(built: Built) -> None:
    splits = [load(str(built.path), name).rows for name in ("train", "dev", "test")]
    articles = [{row.citing_article_id for row in rows} for rows in splits]
    texts = [{(row.plaintext or "").casefold() for row in rows} for rows in splits]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not articles[one] & articles[other]
        assert not texts[one] & texts[other]


def test_every_row_is_described(built: Built) -> None:
    rows = load(str(built.path), "train").rows
    assert all(row.language and row.publication_type and row.has_pid is not None for row in rows)
    assert {row.source for row in rows} <= {"scielo", "redalyc", "ore", "pkp"}
    assert all(0.75 <= (row.similarity or 0) <= 1 for row in rows)


def test_counts_add_up_and_every_drop_has_a_reason(built: Built) -> None:
    counts = {name: done.tally for name, done in built.stages.items()}
    assert tuple(counts) == STAGES
    assert counts["match"].into == counts["extract"].out
    for name in ("match", "sample"):
        assert counts[name].into - counts[name].out == counts[name].dropped.total()
    rejected = [p for row in rows_of(built, "filter") for p in row["pairs"] if p["reasons"]]
    assert len(rejected) == counts["filter"].into - counts["filter"].out
    assert (
        sum(len(row["unmatched"]) for row in rows_of(built, "match"))
        == counts["match"].dropped.total()
    )


def test_the_manifest_tells_all(built: Built) -> None:
    manifest = json.loads((built.path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["digest"] == built.digest
    assert manifest["stages"]["match"]["out"] == built.stages["match"].tally.out
    assert {"id", "pdf", "xml", "source", "doi"} == set(manifest["inputs"][0])
    assert manifest["configuration"]["seed"] == 0
    assert (built.path / "funnel.png").stat().st_size > 1000
    assert (built.path / "composition.png").stat().st_size > 1000
    assert "| feature | value | target | mu | drawn | pool |" in (
        built.path / "README.md"
    ).read_text(encoding="utf-8")


def test_a_second_run_reuses_every_stage(built: Built, corpus: Path) -> None:
    again = run(corpus, built.path)
    assert again.digest == built.digest
    assert all(done.reused for done in again.stages.values())


def test_one_stage_alone_is_done_again(built: Built, corpus: Path) -> None:
    again = run(corpus, built.path, stage="match")
    assert [name for name, done in again.stages.items() if not done.reused] == ["match"]
    assert again.digest == built.digest


@pytest.mark.slow
def test_other_workers_and_another_place_give_the_same(corpus: Path, tmp_path: Path) -> None:
    one = run(corpus, tmp_path / "one", limit=3)
    assert run(corpus, tmp_path / "two", limit=3, workers=2).digest == one.digest


def test_another_seed_splits_otherwise(corpus: Path, tmp_path: Path) -> None:
    seeds = (0, 7)
    digests = {run(corpus, tmp_path / str(seed), seed=seed, limit=4).digest for seed in seeds}
    assert len(digests) == 2


def test_another_configuration_is_refused(built: Built, corpus: Path) -> None:
    with pytest.raises(InputError, match="n: 10000 -> 50"):
        run(corpus, built.path, n=50)


def test_a_smaller_sample(corpus: Path, tmp_path: Path) -> None:
    small = run(corpus, tmp_path / "small", n=60, limit=4)
    assert sum(small.rows.values()) == 60
    dropped = small.stages["sample"].tally.dropped
    assert dropped["not drawn"] > 0
    lines = (small.path / "stages" / "sample.dropped.jsonl").read_text().splitlines()
    assert Counter(json.loads(line)["reason"] for line in lines) == dropped


@pytest.fixture
def copied(corpus: Path, tmp_path: Path) -> Callable[[int], Path]:
    """A corpus of the first articles that a test may damage."""

    def copy(count: int) -> Path:
        lines = corpus.read_text(encoding="utf-8").splitlines()[: count + 1]
        folder = tmp_path / "corpus"
        folder.mkdir()
        (folder / "corpus.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for line in lines[1:]:
            for name in line.split("\t")[1:3]:
                shutil.copy(corpus.parent / name, folder)
        return folder

    return copy


BOMB = '<!DOCTYPE article [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><article><p>&b;</p></article>'


def test_bad_articles_are_rows_with_a_reason(copied: Callable[[int], Path], tmp_path: Path) -> None:
    folder = copied(4)
    pdfs, xmls = sorted(folder.glob("*.pdf")), sorted(folder.glob("*.xml"))
    pdfs[0].write_text("<html>404</html>")
    xmls[1].write_text(BOMB)
    built = run(folder, tmp_path / "out")
    converted = rows_of(built, "convert")
    assert [row["error"] for row in converted].count("not a PDF (no %PDF- at its start)") == 1
    errors = [row["error"] for row in rows_of(built, "match") if row["error"]]
    assert any("entities" in error for error in errors)
    assert built.stages["match"].tally.dropped["unreadable JATS"] > 0
    assert {row.citing_article_id for row in load(str(built.path), "train").rows}


def test_nothing_left_is_said_plainly(copied: Callable[[int], Path], tmp_path: Path) -> None:
    folder = copied(1)
    next(folder.glob("*.pdf")).write_text("<html>404</html>")
    with pytest.raises(JobError, match=r"`convert` left nothing: .* not a PDF"):
        run(folder, tmp_path / "out")


def test_an_entity_bomb_alone_is_named(copied: Callable[[int], Path], tmp_path: Path) -> None:
    folder = copied(1)
    next(folder.glob("*.xml")).write_text(BOMB)
    with pytest.raises(JobError, match=r"`match` left nothing: .* declares XML entities"):
        run(folder, tmp_path / "out")


def test_a_changed_input_is_noticed(copied: Callable[[int], Path], tmp_path: Path) -> None:
    folder = copied(2)
    before = run(folder, tmp_path / "out")
    first = sorted(folder.glob("*.xml"))[0]
    first.write_text(first.read_text(encoding="utf-8").replace("<year>20", "<year>19"), "utf-8")
    with pytest.raises(InputError, match=r"articles: (.|\n)*--stage"):
        run(folder, tmp_path / "out")
    after = run(folder, tmp_path / "out", stage="match")
    assert after.digest != before.digest
    assert after.stages["extract"].reused
    assert not after.stages["match"].reused


class Scripted:
    """An LM's extractor that hallucinates, repeats, truncates, and once returns nothing."""

    def __init__(self, fails_at: range = range(0)) -> None:
        self.calls, self.fails_at = 0, fails_at

    def __call__(self, markdown: str) -> list[str]:
        from reno_dspy.build.references.find import extract

        self.calls += 1
        if self.calls in self.fails_at:
            raise JobError("HTTP 400: too long")
        if self.calls == 1:
            return []
        found = extract(markdown)
        return [*found, found[0], "Nowhere, N. (2020). Not in any text.", found[1][:40]]


def test_an_lm_that_misbehaves(corpus: Path, tmp_path: Path) -> None:
    built = run(corpus, tmp_path / "out", extractor=Scripted(), limit=4, concurrency=1)
    tally = built.stages["extract"].tally
    assert tally.dropped == {"hallucinated": 3, "repeated": 3}
    assert tally.also["articles without references"] == 1
    texts = [text for row in rows_of(built, "extract") for text in row["references"]]
    assert not any("Nowhere, N." in text for text in texts)


def test_an_lm_that_fails_now_and_then_costs_those_articles(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    failing = Scripted(fails_at=range(3, 4))
    built = run(corpus, out, extractor=failing, limit=5, concurrency=1)
    assert built.stages["extract"].tally.also["the LM failed"] == 1
    errors = [row["error"] for row in rows_of(built, "extract") if row["failed"]]
    assert errors == ["HTTP 400: too long"]
    assert failing.calls == 5
    again = run(corpus, out, extractor=failing, limit=5, concurrency=1, stage="extract")
    assert failing.calls == 6
    assert again.stages["extract"].tally.also["the LM failed"] == 0
    assert again.digest != built.digest
    assert not (out / "stages" / "extract.partial.jsonl").exists()


def test_an_lm_that_fails_too_often_ends_the_build_and_its_answers_are_kept(
    corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(
        JobError, match=r"2 of 5 articles failed(.|\n)*HTTP 400: too long(.|\n)*resumes"
    ):
        run(corpus, out, extractor=Scripted(range(4, 99)), limit=5, concurrency=1)
    assert len(JsonlLog(out / "stages" / "extract.partial.jsonl").read()) == 3
    again = Scripted()
    again.calls = 10
    run(corpus, out, extractor=again, limit=5, concurrency=1)
    assert again.calls == 12
    assert not (out / "stages" / "extract.partial.jsonl").exists()


def test_another_model_behind_the_same_name_is_asked_again(corpus: Path, tmp_path: Path) -> None:
    first, same, other = Scripted(), Scripted(), Scripted()
    for one, model in ((first, "small"), (same, "small"), (other, "large")):
        one.identity = {"lm": {"model": model}}  # type: ignore[attr-defined]
    for one in (first, same):
        run(corpus, tmp_path / "out", extractor=one, limit=2)
    with pytest.raises(InputError, match=r"extractor\.lm\.model: 'small' -> 'large'"):
        run(corpus, tmp_path / "out", extractor=other, limit=2)
    run(corpus, tmp_path / "out", extractor=other, limit=2, stage="extract")
    assert (first.calls, same.calls, other.calls) == (2, 0, 2)


@pytest.mark.parametrize("damage", ["{}", "[]", "", '{"fingerprint": 1, "counts": []}'])
def test_a_damaged_note_costs_its_stage_alone(corpus: Path, tmp_path: Path, damage: str) -> None:
    before = run(corpus, tmp_path, limit=1)
    (tmp_path / "stages" / "filter.json").write_text(damage)
    after = run(corpus, tmp_path, limit=1)
    assert [name for name, done in after.stages.items() if not done.reused] == ["filter"]
    assert after.digest == before.digest


def test_an_lm_that_describes(corpus: Path, tmp_path: Path) -> None:
    built = run(corpus, tmp_path / "out", describer=lambda title, text: ("it", True), limit=3)
    rows = load(str(built.path), "train").rows
    assert {(row.language, row.has_pid) for row in rows} == {("it", True)}


class Describer:
    """An LM's describer that is killed at a call, or fails each so many calls."""

    def __init__(self, dies_at: int = 0, fails_each: int = 10**9) -> None:
        self.asked: list[str] = []
        self.dies_at, self.fails_each = dies_at, fails_each

    def __call__(self, title: str, text: str) -> tuple[str, bool]:
        if len(self.asked) + 1 == self.dies_at:
            raise KeyboardInterrupt
        self.asked.append(text)
        if len(self.asked) % self.fails_each == 0:
            raise JobError("HTTP 400: no")
        return "it", True


def test_a_describing_lm_resumes_after_the_last_article(corpus: Path, tmp_path: Path) -> None:
    whole, cut, again = Describer(), Describer(dies_at=45), Describer()
    expected = run(corpus, tmp_path / "whole", describer=whole, limit=3, concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        run(corpus, tmp_path / "out", describer=cut, limit=3, concurrency=1)
    kept = JsonlLog(tmp_path / "out" / "stages" / "describe.partial.jsonl").read()
    assert 0 < len(kept) < 3
    done = run(corpus, tmp_path / "out", describer=again, limit=3, concurrency=1)
    assert done.digest == expected.digest
    answered = sum(len(row["record"]["pairs"]) for row in kept)
    assert again.asked == whole.asked[answered:]
    assert not (tmp_path / "out" / "stages" / "describe.partial.jsonl").exists()


def test_pairs_that_an_lm_cannot_describe_are_dropped_and_counted(
    corpus: Path, tmp_path: Path
) -> None:
    describer = Describer(fails_each=10)
    built = run(corpus, tmp_path / "out", describer=describer, limit=3, concurrency=1)
    tally = built.stages["describe"].tally
    failed = len(describer.asked) // 10
    assert tally.dropped == {"the LM failed": failed}
    assert tally.into - tally.out == failed > 0
    rows = rows_of(built, "describe")
    assert sum(len(row["failed"]) for row in rows) == failed


def test_the_command(corpus: Path, tmp_path: Path) -> None:
    arguments = ["build", str(corpus), "--out", str(tmp_path / "out"), "--limit", "3"]
    result = CliRunner().invoke(group, [*arguments, "--workers", "1", "--no-tracking"])
    assert result.exit_code == 0, result.output
    for stage in STAGES:
        assert stage in result.output
    assert "digest" in result.output


@pytest.mark.slow
def test_killed_at_ten_moments_and_resumed(corpus: Path, tmp_path: Path) -> None:
    """Killed (-9) at random moments of every stage; what is resumed ends as if nothing had been."""
    whole = run(corpus, tmp_path / "whole", limit=4)
    out = tmp_path / "killed"
    command = [
        sys.executable, "-c", "from reno_dspy.cli import main; main()", "build",
        "--corpus", str(corpus), "--out", str(out), "--limit", "4", "--workers", "1",
        "--no-tracking",
    ]  # fmt: skip
    rng = random.Random(0)
    for moment in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = moment * (2 * len(STAGES) + 2) // 10
        while process.poll() is None and len(list((out / "stages").glob("*"))) <= seen:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["digest"] == whole.digest


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra [ray]")
def test_ray_gives_the_same(corpus: Path, tmp_path: Path) -> None:
    whole = run(corpus, tmp_path / "local", limit=3)
    command = [
        sys.executable, "-c", "from reno_dspy.cli import main; main()", "build",
        "--corpus", str(corpus), "--out", str(tmp_path / "ray"), "--limit", "3",
        "--engine", "ray", "--workers", "2", "--no-tracking",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "ray" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["digest"] == whole.digest
