"""A job killed between its result and the end of its run is completed by the same command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tracking.runs import all_runs
from tracking.store import open_client

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples" / "corpus"
# `reno`, killed by the first event of its run once a file is there.
KILLED_RENO = """
import os, signal, sys
from pathlib import Path
from tracking.journal import Journal

result, add = Path(sys.argv[1]), Journal.add

def killed(*args, **details):
    if result.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    add(*args, **details)

Journal.add = killed
sys.argv = ["reno", *sys.argv[2:]]
from reno_dspy.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with 12 rows in `rows.jsonl`."""
    made = tmp_path_factory.mktemp("killed")
    rows = [
        {
            "plaintext": f"Ito K. Foxes {n}. J Fict Zool. {1990 + n}.",
            "xml": f"<mixed-citation><surname>Ito</surname> <given-names>K</given-names>. "
            f"<article-title>Foxes {n}</article-title>. <source>J Fict Zool</source>. "
            f"<year>{1990 + n}</year>.</mixed-citation>",
            "citing_article_id": f"a{n}",
        }
        for n in range(12)
    ]
    (made / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return made


@pytest.mark.parametrize(
    ("command", "result", "artifact"),
    [
        (("evaluate", "--system", "crf", "--data", "rows.jsonl"), "report.json", "report.json"),
        (("train-crf", "--data", "rows.jsonl", "--min-spans", "1"), "crf.json", "crf.crfsuite"),
        (("finetune", "tiny", "--data", "rows.jsonl", "--max-steps", "2", "--set", "dev.rows=0"),
         "adapter", "adapter"),
        (("build", str(EXAMPLES / "corpus.tsv"), "--limit", "2"), "manifest.json", "manifest.json"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)  # fmt: skip
def test_a_job_killed_after_its_result_is_completed_by_the_same_command(
    folder: Path,
    command: tuple[str, ...],
    result: str,
    artifact: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    job, out = command[0], folder / command[0]
    words = [*command, "--out", str(out)]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_RENO, str(out / result), *words], cwd=folder, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert (out / result).exists()
    subprocess.run([sys.executable, "-m", "reno_dspy.cli", *words], cwd=folder, check=True)
    client = open_client(f"sqlite:///{folder / 'mlruns' / 'mlflow.db'}")
    [run] = [one for one in all_runs(client) if one.data.tags["job"] == job]
    assert run.info.status == "FINISHED"
    assert artifact in {file.path for file in client.list_artifacts(run.info.run_id)}
