"""From a build to the comparison of what came of it, and back."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from mlflow.tracking import MlflowClient

from reno_dspy.base.tracker import DataRef
from reno_dspy.cli.lineage import command
from tracking.lineage import NOTE, made_from, used_by
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import run_link
from tracking.store import open_client


@pytest.fixture(scope="module")
def chain(anywhere_once: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run ids of build -> optimize -> evaluate -> compare, each told as its job tells it."""
    folder = tmp_path_factory.mktemp("chain")
    data = folder / "data"
    data.mkdir()
    (data / "manifest.json").write_text(json.dumps({"digest": "d1g3st"}))
    ids: dict[str, str] = {}

    def job(name: str, tags: dict[str, str], context: str | None) -> None:
        out = folder / name
        with MlflowTracker().start(name, f"my {name}", run_dir=out, config={}) as run:
            run.tags(tags)
            if context:
                run.data(DataRef("corpus", f"part-{context}", str(data), 3), context)
            run.describe(f"What {name} gave.")
            ids[name] = str(run.id)

    job("build", {}, "build")
    job("optimize", {"uses.prompt": "seed", "makes.prompt": "best"}, "train")
    job("evaluate", {"uses.prompt": "best"}, "test")
    job("compare", {"uses.runs": f"{ids['evaluate']} deleted-since"}, None)
    return ids


def names(client: MlflowClient, chain: dict[str, str], links: list[str]) -> set[str]:
    return {name for name, run in chain.items() if run in links}


def test_lineage_is_followed_both_ways(chain: dict[str, str]) -> None:
    client = open_client()
    before, after = {}, {}
    for name, run_id in chain.items():
        run = client.get_run(run_id)
        before[name] = names(client, chain, [x.run.info.run_id for x in made_from(client, run)])
        after[name] = names(client, chain, [x.run.info.run_id for x in used_by(client, run)])
    assert before == {
        "build": set(),
        "optimize": {"build"},
        "evaluate": {"build", "optimize"},
        "compare": {"evaluate"},
    }
    assert after == {
        "build": {"optimize", "evaluate"},
        "optimize": {"evaluate"},
        "evaluate": {"compare"},
        "compare": set(),
    }


def test_descriptions_carry_links_to_click(chain: dict[str, str]) -> None:
    client = open_client()
    notes = {name: client.get_run(run).data.tags[NOTE] for name, run in chain.items()}
    assert notes["build"].startswith("What build gave.")
    assert "**Used by:** " in notes["build"]
    assert f"/runs/{chain['optimize']})" in notes["build"]
    link = run_link(client.get_run(chain["build"]))
    assert f"[build: my build]({link})" in notes["evaluate"]
    assert f"/runs/{chain['compare']})" in notes["evaluate"]


def test_the_command_shows_the_whole_tree(chain: dict[str, str]) -> None:
    arguments, width = [chain["evaluate"]], {"COLUMNS": "120"}
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False, env=width)
    assert shown.exit_code == 0
    text = shown.output
    assert text.index("my evaluate") < text.index("Made from") < text.index("my optimize")
    assert text.index("my build") < text.index("Used by") < text.index("my compare")
