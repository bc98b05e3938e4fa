"""Every fault of an endpoint against every job that asks one: it is told, counted, and spoils nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from programs.optimize.reflection import Reflect
from reno_dspy.build.references.find import extract
from reno_dspy.cli import main
from reno_dspy.data.dataset import Row, save
from tests.programs.faulty import MODES, FaultyEndpoint

BETTER = "Tag SURNAMES and all else, as JATS has it."

# Modes in which the answer is there, and what the others' failure says.
FINE = ("right", "think", "thinkend", "reasoning", "parts", "503once", "429once", "resetonce")
SAYS = {
    "nochoices": "no `choices`",
    "emptychoices": "no `choices`",
    "null": "content of the reply is null",
    "empty": "answer is empty",
    "refusal": "The model refused: I can't help with that",
    "filter": "content filter",
    "cutthought": "cut off before it began",
    "openthought": "cut off before it began",
    "allthought": "stands in the reply's reasoning",
    "unauthorized": "refused a request without a key",
    "quota": "no credit left",
    "nomodel": "does not serve openai/m.* It serves one, other",
    "context": "exceed the model's context",
    "temperature": "temperature: null leaves it out",
    "max_tokens": "max_tokens: null leaves it out",
    "html": "not JSON",
    "badjson": "not JSON",
    "error200": "Provider returned error",
    "429": "asks to wait 3,600 s",
    "500": "HTTP 500",
    "drip": "no whole answer in time",
}
# What an LM's text may be in, and what it may lack, shows in every job; the rest of a fault is the same.
EVERYWHERE = ("right", "thinkend", "nochoices", "null", "refusal", "filter", "openthought",
              "temperature", "429")  # fmt: skip
CASES = [("evaluate", mode) for mode in MODES] + [
    (job, mode) for job in ("annotate", "build", "optimize") for mode in EVERYWHERE
]


def rows(first: int, count: int) -> list[Row]:
    return [
        Row(None, f"Ito{n} K. Foxes. 2001.", f"<m><surname>Ito{n}</surname></m>", "ore",
            citing_article_id=f"a{n}")
        for n in range(first, first + count)
    ]  # fmt: skip


def right(body: dict[str, Any]) -> str:
    """The right answer of whatever is asked; the student tags surnames once it is told to."""
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    if system == Reflect.instructions:
        return f"<instructions>{BETTER}</instructions>"
    if "two letters" in system:
        return "pt"
    if "persistent identifier" in system:
        return "yes"
    if system.startswith("List the bibliographic references"):
        return "\n".join(extract(f"## References\n\n{user}"))
    tag = "name" if "SURNAMES" not in system and "optimize me" in system else "surname"
    tagged = re.sub(r"(Ito\d+)", rf"<{tag}>\1</{tag}>", user)
    return f"<mixed-citation>{tagged}</mixed-citation>"


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyEndpoint]:
    endpoint = FaultyEndpoint(right)
    yield endpoint
    endpoint.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, references and a recipe, made once; conversions of the corpus are kept there, too."""
    made = tmp_path_factory.mktemp("faults")
    save({"train": rows(0, 6), "dev": rows(10, 4), "test": rows(20, 6)}, made / "data", "", {})
    (made / "refs.txt").write_text("".join(f"{row.plaintext}\n" for row in rows(20, 6)))
    (made / "seed.yaml").write_text("instructions: optimize me\n")
    return made


def evaluated(out: Path) -> bool:
    report = json.loads((out / "report.json").read_text())
    return bool(report["errors"] == 0 and report["fields"]["surname"]["lenient"] == 6)


def annotated(out: Path) -> bool:
    return (out / "refs.xml").read_text().count("<surname>Ito2") == 6


def built(out: Path) -> bool:
    found = [row for file in out.glob("data/*.parquet") for row in pq.read_table(file).to_pylist()]
    return bool(found) and all((row["language"], row["has_pid"]) == ("pt", True) for row in found)


def optimized(out: Path) -> bool:
    result = json.loads((out / "result.json").read_text())
    return bool(result["best_score"] == 1.0 and result["proposals"] == {"usable": 1})


def commands(
    folder: Path, recipe: Path, out: Path
) -> dict[str, tuple[list[str], Callable[[Path], bool]]]:
    corpus = Path(__file__).parents[2] / "examples" / "corpus" / "corpus.tsv"
    data, system = f"{folder / 'data'}", f"{recipe}"
    return {
        "evaluate": (["evaluate", "--system", system, "--data", data, "--split", "test", "--out",
                      f"{out}", "--no-tracking"], evaluated),
        "annotate": (["annotate", f"{folder / 'refs.txt'}", "--system", system, "--out",
                      f"{out / 'refs.xml'}"], annotated),
        "build": (["build", "--corpus", f"{corpus}", "--limit", "2", "--extractor", system,
                   "--describer", system, "--out", f"{out}", "--no-tracking"], built),
        "optimize": (["optimize", "light", "--student", system, "--prompt", f"{folder / 'seed.yaml'}",
                      "--data", data, "--out", f"{out}", "--no-tracking", "--set", "auto=null",
                      "--max-metric-calls", "30"], optimized),
    }  # fmt: skip


@pytest.mark.parametrize(("job", "mode"), CASES)
def test_a_fault_is_told_and_spoils_nothing(
    job: str,
    mode: str,
    server: FaultyEndpoint,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe = tmp_path / "lm.yaml"
    recipe.write_text(
        f"name: m\nlm:\n  model: openai/m\n  api_base: {server.url(mode)}\n  timeout: 1\n"
        "  num_retries: 1\n"
    )
    monkeypatch.setenv("RENO_CACHE", str(folder / "cache"))
    monkeypatch.setattr("programs.lm._BACKOFF", 0.01)
    (tmp_path / "out").mkdir()
    words, is_right = commands(folder, recipe, tmp_path / "out")[job]
    monkeypatch.setattr("sys.argv", ["reno", *words])
    before = len(server.requests)
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    said = " ".join(capsys.readouterr().err.split())
    if mode in FINE:
        assert code == 0, said
        assert is_right(tmp_path / "out")
    else:
        assert code in (1, 2)
        assert re.search(SAYS[mode], said), said
        assert "Traceback" not in said
        assert len(server.requests) - before < 60
        results = ("report.json", "result.json", "refs.xml", "manifest.json")
        assert not any((tmp_path / "out" / name).exists() for name in results)
