"""What the documents name exists: files they link to, commands, and options of those commands."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from reno_dspy.cli.main import COMMANDS, group

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# A command as it is typed: at a line's start in a block, or in code.
TYPED = re.compile(r"(?:^    |`|\| )reno ([a-z][a-z-]*)(.*?)(?:`|$)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    context = click.Context(group)
    for name, rest in TYPED.findall(page.read_text(encoding="utf-8")):
        assert name in COMMANDS, name
        command = group.get_command(context, name)
        assert command is not None
        words = rest.partition("#")[0].partition(" | ")[0].split()
        if isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words[0]]
        known = {option for parameter in command.params for option in parameter.opts}
        known |= {option for parameter in command.params for option in parameter.secondary_opts}
        used = {
            word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z][a-z-]+\S*", word)
        }
        assert used - {"--help"} <= known, (name, used - known)


def test_every_command_is_in_a_document() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in COMMANDS if f"reno {name}" not in text and name != "demo"] == []
