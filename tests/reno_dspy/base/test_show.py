"""Numbers and tables as text."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import pytest

from reno_dspy.base.show import csv_text, guarded, markdown_table, percent, shown, unguarded


def test_what_is_not_defined_is_a_dash() -> None:
    assert (percent(1, 3), percent(0, 0)) == (33.3333, None)
    assert (shown(33.3333), shown(2, 0), shown(None)) == ("33.3", "2", "–")


def test_a_markdown_table_keeps_its_cells_apart() -> None:
    text = markdown_table(["name", "n"], [["a|b\nc", 1]])
    assert text == "| name | n |\n|---|---:|\n| a\\|b c | 1 |\n"


@pytest.mark.parametrize("start", "=+-@\t\r")
def test_no_cell_is_a_formula(start: str) -> None:
    text = f'{start}HYPERLINK("http://x")'
    [row] = csv.reader(io.StringIO(csv_text([text], []), newline=""))
    assert row == [text], "heads are our own"
    _, row = csv.reader(io.StringIO(csv_text(["head"], [[text]]), newline=""))
    assert row == [f"'{text}"]
    assert unguarded(row[0]) == text
    assert (guarded(-1.5), guarded("'quoted'")) == (-1.5, "'quoted'")


def test_a_pipe_whose_reader_has_gone_is_no_failure() -> None:
    code = (
        "import click, importlib; from reno_dspy.base.show import console\n"
        "cli = importlib.import_module('reno_dspy.cli.main')\n"
        "@click.command()\n"
        "def group():\n"
        "    for _ in range(20000): console().print('x' * 70)\n"
        "cli.group = group; cli.main()\n"
    )
    script = '"$0" -c "$1" | head -1; exit ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
