"""The commands of docs/service.md, run as they are printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reno_dspy.service.limits import Limits
from tests.reno_dspy.service.running import ROOT, Service

PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    ((?:curl|grobid_client) .*)$", PAGE, re.MULTILINE)


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 7


@pytest.mark.parametrize("name", Limits.model_fields)
def test_every_limit_is_in_the_table(name: str) -> None:
    assert f"| `{name}` | {getattr(Limits(), name):,.0f}" in PAGE


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_docs(crf: Service, shared: Path, tmp_path: Path, command: str) -> None:
    program = command.split()[0]
    # Also where the environment of these tests is not activated.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which(program, path=path) is None:
        pytest.skip(f"needs {program}")
    pdf = shared / "data" / "pairs" / "excite_41980.pdf"
    (tmp_path / "pdfs").mkdir()
    shutil.copy(pdf, tmp_path / "pdfs" / "a.pdf")
    shutil.copy(pdf, tmp_path / "article.pdf")
    (tmp_path / "refs.txt").write_text("Ito K. Foxes. 2010.\n", encoding="utf-8")
    done = subprocess.run(
        ["bash", "-ec", command.replace("http://127.0.0.1:8070", crf.url)],
        cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if program == "curl":
        shown = done.stdout
    else:
        shown = (tmp_path / "out" / "a.grobid.tei.xml").read_text(encoding="utf-8")
    assert re.search(r'"field":"surname"|@\w+{ito2010foxes|<surname>', shown), shown[:500]
