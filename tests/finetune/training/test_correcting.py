"""The whole way of docs/correcting.md: from a pasted list to a tagger that has learnt from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from finetune.training.loop import FinetuneResult
from reno_dspy.cli.main import group
from reno_dspy.data.dataset import load, splits_of
from tests.reno_dspy.service.running import serving
from tests.tracking.browser import CHROMIUM, PATIENCE_MS, browser_page

REFERENCES = [
    f"Veldt A. Reeds and rushes {n}. J Fict. {1950 + n};{n}(2):1-9." for n in range(6, 20)
]


def reno(*arguments: str | Path) -> str:
    result = CliRunner().invoke(group, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium (apt install chromium)")
def test_from_paste_to_a_tagger_that_has_learnt(
    trained: FinetuneResult, base: Path, pairs: Path, tmp_path: Path
) -> None:
    folder, tagger = tmp_path / "corrections", trained.adapter.path
    options = ["tagger", "--adapter", str(tagger), "--corrections", str(folder)]
    expect.set_options(timeout=PATIENCE_MS)
    with serving(tmp_path, *options) as service, browser_page() as page:
        page.goto(service.url)
        page.get_by_label("References, one a line").fill("\n".join(REFERENCES))
        page.get_by_role("button", name="Read references").click()
        # The first word without a field is a comment in every reference, says this person.
        for number in range(1, len(REFERENCES) + 1):
            page.get_by_role("button", name=f"Add field to reference {number}", exact=True).click()
            page.get_by_label("Other field").select_option("comment")
            page.get_by_role("button", name=f"Accept reference {number}", exact=True).click()
        page.get_by_role("button", name=f"Save ({len(REFERENCES)})").click()
        expect(page.get_by_role("button", name="Saved")).to_be_visible()
    assert set(splits_of(str(folder))) == {"train", "dev", "test"}
    rows = [row for split in splits_of(str(folder)) for row in load(str(folder), split).rows]
    assert len(rows) == len(REFERENCES)
    assert all("<comment>" in row.xml for row in rows)

    test = ["--data", folder, "--split", "test", "--no-tracking"]
    reno(
        "evaluate",
        "--system",
        "tagger",
        "--adapter",
        tagger,
        *test,
        "--out",
        tmp_path / "before",
    )
    said = reno(
        "finetune", "tagger-corrections", "--from", tagger, "--rehearsal", pairs, "--data", folder,
        "--out", tmp_path / "after", "--base", base, "--max-steps", 4, "--max-length", 128,
        "--set", "rehearsal_share=0.5", "--no-tracking",
    )  # fmt: skip
    learnt = json.loads((tmp_path / "after" / "rows.json").read_text(encoding="utf-8"))
    assert learnt["given"] == 2 * len(load(str(folder), "train").rows)
    assert "field recall" in said
    reno(
        "evaluate", "--system", "tagger", "--adapter", tmp_path / "after", *test,
        "--out", tmp_path / "now",
    )  # fmt: skip
    compared = reno(
        "compare", tmp_path / "before", tmp_path / "now", "--out", tmp_path / "c", "--no-tracking"
    )
    assert "before" in compared
