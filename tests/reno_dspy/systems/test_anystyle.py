"""AnyStyle: its JSON in JATS, from a stand-in for its command (and from the real one where present)."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.jats.citation import parse, read_values
from reno_dspy.systems.anystyle import AnyStyle, to_jats

ARTICLE: dict[str, Any] = {
    "author": [
        {"family": "Denhart", "given": "H."},
        {"family": "Berg", "particle": "van den", "given": "J. P."},
        {"literal": "World Health Organization"},
    ],
    "date": ["2008"],
    "title": ["Deconstructing barriers"],
    "volume": ["41"],
    "pages": ["483–497"],
    "type": "article-journal",
    "container-title": ["Journal of Learning Disabilities"],
    "issue": ["6"],
    "doi": ["10.1177/0022219408321151"],
}
BOOK: dict[str, Any] = {"title": ["Handbuch"], "date": ["2010-01"], "type": "book"}

# Answers each line by the JSON in the file `answers`; `hostile` lines end the process.
STAND_IN = """#!{python}
import json, sys
if sys.argv[1] == "--version":
    print("anystyle 1.6.0 (cli 1.5.0, data 1.3.0)")
    sys.exit()
assert sys.argv[1:5] == ["--stdout", "-f", "json", "parse"], sys.argv
lines = open(sys.argv[5], encoding="utf-8").read().splitlines()
if "hostile" in lines:
    sys.exit("invalid byte sequence")
answers = json.loads({answers!r})
print(json.dumps([answers[line] for line in lines if line in answers]))
"""


def _stand_in(folder: Path, answers: dict[str, Any]) -> AnyStyle:
    command = folder / "anystyle"
    command.write_text(STAND_IN.format(python=sys.executable, answers=json.dumps(answers)))
    command.chmod(0o755)
    return AnyStyle(str(command))


def test_an_article_in_jats() -> None:
    root = parse(to_jats(ARTICLE))
    assert root.get("publication-type") == "journal"
    assert read_values(root) == {
        "surname": ("Denhart", "van den Berg"),
        "given-names": ("H.", "J. P."),
        "article-title": ("Deconstructing barriers",),
        "source": ("Journal of Learning Disabilities",),
        "volume": ("41",),
        "issue": ("6",),
        "year": ("2008",),
    }
    others = read_values(root, ("collab", "fpage", "lpage", "pub-id"))
    assert others == {
        "collab": ("World Health Organization",),
        "fpage": ("483",),
        "lpage": ("497",),
        "pub-id": ("10.1177/0022219408321151",),
    }


def test_the_title_of_a_whole_is_its_source() -> None:
    values = read_values(parse(to_jats(BOOK)))
    assert (values["source"], values["article-title"]) == (("Handbuch",), ())
    assert values["year"] == ("2010",)
    chapter = {**BOOK, "type": "chapter", "title": ["Zeit"], "container-title": ["Handbuch"]}
    values = read_values(parse(to_jats(chapter)), ("chapter-title", "source"))
    assert values == {"chapter-title": ("Zeit",), "source": ("Handbuch",)}


def test_references_and_answers_keep_their_order(tmp_path: Path) -> None:
    system = _stand_in(tmp_path, {"an article": ARTICLE, "a book": BOOK})
    completions = asyncio.run(system.annotate(["a\n book", "an  article"]))
    assert [completion.error for completion in completions] == [None, None]
    assert "<source>Handbuch</source>" in completions[0].text
    assert "<surname>Denhart</surname>" in completions[1].text


def test_one_hostile_reference_costs_one_row(tmp_path: Path) -> None:
    system = _stand_in(tmp_path, {"a book": BOOK})
    fine, hostile, unknown = asyncio.run(system.annotate(["a book", "hostile", "no answer"]))
    assert fine.error is None
    assert hostile.error is not None
    assert "invalid byte sequence" in hostile.error
    assert unknown.error == "AnyStyle: 0 answers to 1 references"


def test_identity_is_the_version(tmp_path: Path) -> None:
    assert _stand_in(tmp_path, {}).identity()["model"].startswith("anystyle 1.6.0")


def test_a_missing_command_says_how_to_install_it() -> None:
    with pytest.raises(InputError, match="gem install anystyle-cli"):
        AnyStyle("anystyle-that-is-not-here")


@pytest.mark.skipif(shutil.which("anystyle") is None, reason="AnyStyle is not installed here")
def test_the_real_command() -> None:
    line = "Denhart, H. (2008). Deconstructing barriers. Journal of Learning Disabilities, 41(6), 483-497."
    (completion,) = asyncio.run(AnyStyle().annotate([line]))
    assert read_values(parse(completion.text))["surname"] == ("Denhart",)
