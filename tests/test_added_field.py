"""A scored field is added in one place: the table of elements. The paper's columns stay seven."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ADDED = "publisher-loc"
# What editing one line of the table does, before anything else reads it.
CODE = f"""
from dataclasses import replace
from reno_dspy.jats import elements
elements.ELEMENTS = tuple(
    replace(e, scored=e.scored or e.name == {ADDED!r}) for e in elements.ELEMENTS
)
elements.SCORED = tuple(e.name for e in elements.ELEMENTS if e.scored)
from reno_dspy.cli.main import main
main()
"""
TEXT = "Ito, K. Foxes of volume {0}. Bern: Den Press, 20{0}."
GOLD = (
    '<mixed-citation publication-type="book"><string-name><surname>Ito</surname>, <given-names>K.'
    "</given-names></string-name> <source>Foxes of volume {0}</source>. <publisher-loc>Bern"
    "</publisher-loc>: <publisher-name>Den Press</publisher-name>, <year>20{0}</year>."
    "</mixed-citation>"
)


def reno(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_added_field_is_evaluated_and_compared(tmp_path: Path) -> None:
    rows = [
        {"plaintext": TEXT.format(n), "xml": GOLD.format(n), "source": "pkp", "citing_article_id": str(n)}
        for n in range(10, 22)
    ]  # fmt: skip
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ["--system", "crf", "--data", str(data), "--out", "a", "--no-tracking"]
    assert ADDED in reno(tmp_path, "evaluate", *options)
    report = json.loads((tmp_path / "a" / "report.json").read_text(encoding="utf-8"))
    assert report["fields"][ADDED]["gold"] == len(rows)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    compared = reno(tmp_path, "compare", "a", "b")
    assert ADDED in compared
    # The paper's tables keep their columns.
    assert "Surname Given Title Source Volume Issue Year" in " ".join(compared.split())
