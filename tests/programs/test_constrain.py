"""Constrained decoding: what the grammars allow, what is sent, what becomes of a server without them.

    RENO_VLLM_PYTHON=VENV/bin/python pytest tests/programs/test_constrain.py

also runs it against a real vLLM.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from programs.annotate import LMSystem
from programs.config import LMSpec
from programs.constrain import copy_grammar, grammar, violation, wellformed_grammar
from programs.prompts import load
from reno_dspy.cli import main
from reno_dspy.jats.spans import Span, project, render
from reno_dspy.systems import Constrain
from reno_dspy.systems.tokens import tokenize
from tests.programs.conftest import Answer, Endpoint, completion

Start = Callable[[Answer], Endpoint]
REFERENCE = '1. Ito K, Ōe "R&D" A. Foxes <and> owls\\, J Imag. 2004a;12(3):145-52.'
GOLD = (
    '<mixed-citation publication-type="journal">1. <person-group person-group-type="author">'
    "<string-name><surname>Ito</surname> <given-names>K</given-names></string-name>, <string-name>"
    '<surname>Ōe</surname> "R&amp;D" <given-names>A</given-names></string-name></person-group>. '
    "<article-title>Foxes &lt;and&gt; owls\\</article-title>, <source>J Imag</source>. <year>2004</year>a;"
    "<volume>12</volume>(<issue>3</issue>):<fpage>145</fpage>-<lpage>52</lpage>.</mixed-citation>"
)


class Matcher:
    """Whether an EBNF of ours yields a text: all ways at once, character by character.

    Knows what our grammars use: literals, character classes, rules, groups, `|`, `*`; look-ahead is
    skipped, since it only makes xgrammar quicker.
    """

    _TOKEN = re.compile(
        r'\s*(?:(?P<literal>"(?:[^"\\]|\\.)*")|(?P<ahead>\(=\[(?:[^\]\\]|\\.)*\]\))'
        r"|(?P<set>\[(?:[^\]\\]|\\.)*\])|(?P<name>\w+)|(?P<mark>[()|*]))"
    )

    def __init__(self, ebnf: str) -> None:
        self.rules: dict[str, Any] = {}
        for line in ebnf.split("\n"):
            name, body = line.split(" ::= ", 1)
            assert name not in self.rules, name
            tokens = [(m.lastgroup, m[m.lastgroup or 0]) for m in self._TOKEN.finditer(body)]
            self.rules[name] = self._choice(tokens)
            assert not tokens, line

    def _choice(self, tokens: list[tuple[str | None, str]]) -> Any:
        branches: list[list[Any]] = [[]]
        while tokens and tokens[0][1] != ")":
            kind, text = tokens.pop(0)
            if text == "|" and kind == "mark":
                branches.append([])
            elif text == "(" and kind == "mark":
                branches[-1].append(self._choice(tokens))
                tokens.pop(0)
            elif text == "*" and kind == "mark":
                branches[-1].append(("repeat", branches[-1].pop()))
            elif kind == "literal":
                branches[-1].append(("text", json.loads(text.replace("\t", r"\t"))))
            elif kind == "set":
                branches[-1].append(("set", re.compile(text, re.DOTALL)))
            elif kind == "name":
                branches[-1].append(("rule", text))
        return ("choice", branches)

    def ends(self, node: Any, text: str, start: int) -> set[int]:
        """Where in `text` what `node` yields from `start` on can end."""
        kind, value = node
        if kind == "text":
            return {start + len(value)} if text.startswith(value, start) else set()
        if kind == "set":
            return {start + 1} if value.match(text, start) else set()
        if kind == "rule":
            if (value, start) not in self.known:
                self.known[value, start] = self.ends(self.rules[value], text, start)
            return self.known[value, start]
        if kind == "repeat":
            found, new = {start}, {start}
            while new := {end for one in new for end in self.ends(value, text, one)} - found:
                found |= new
            return found
        ends: set[int] = set()
        for branch in value:
            at = {start}
            for part in branch:
                at = {end for one in at for end in self.ends(part, text, one)}
            ends |= at
        return ends

    def accepts(self, text: str) -> bool:
        self.known: dict[tuple[str, int], set[int]] = {}
        sys.setrecursionlimit(20_000)
        return len(text) in self.ends(("rule", "root"), text, 0)


@pytest.fixture(scope="module")
def copy() -> Matcher:
    return Matcher(copy_grammar(REFERENCE))


@pytest.fixture(scope="module")
def wellformed() -> Matcher:
    return Matcher(wellformed_grammar())


def test_both_grammars_allow_the_gold_and_the_bare_text(copy: Matcher, wellformed: Matcher) -> None:
    for answer in (GOLD, render(REFERENCE, ())):
        assert copy.accepts(answer)
        assert wellformed.accepts(answer)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</mixed-citation>", ""), ("</year>", ""), ("</year>", "</volume>"), ("&amp;", "&"),
        ("&lt;", "<"), ("2004</year>", "2004</year><year></year>"), ("Imag", "Im<b>a</b>g"),
        ("</person-group>", ""), ("</mixed-citation>", "</mixed-citation>\n"),
        ("<surname>Ito</surname>", "<year>Ito</year>"), ("<year>", "<year><volume>"),
        ('"author"', '"writer"'), ("<source>", "<source"),
    ],
)  # fmt: skip
def test_both_grammars_refuse(old: str, new: str, copy: Matcher, wellformed: Matcher) -> None:
    assert old in GOLD
    answer = GOLD.replace(old, new, 1)
    assert not copy.accepts(answer)
    assert not wellformed.accepts(answer)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ito", "Itō"), ("Foxes ", "Foxes"), ("2004", "2005"), (".</mixed", "</mixed"),
        ("</mixed", " and more</mixed"), ("1. ", ""), ("2004</year>a", "2004a</year>"),
        ("<source>J Imag</source>", "<source>J Im</source>ag"),
    ],
)  # fmt: skip
def test_copy_alone_refuses_another_text(
    old: str, new: str, copy: Matcher, wellformed: Matcher
) -> None:
    answer = GOLD.replace(old, new, 1)
    # A tag may stand between digits and letters, and nowhere inside a word.
    assert copy.accepts(answer) is (new == "2004a</year>")
    assert wellformed.accepts(answer)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_tagging_of_any_text_between_words_is_allowed(data: st.DataObject) -> None:
    alphabet = st.sampled_from('ab1 2.,&<>"\\]^-é中文ก\u0301\u00a0\t\n\r😀')
    text = data.draw(st.text(alphabet, max_size=14))
    # A tag can stand where a tagger cuts.
    words = [(token.start, token.end) for token in tokenize(text)]
    chosen = data.draw(st.lists(st.sampled_from(words), unique=True)) if words else []
    names = st.sampled_from(["surname", "given-names", "collab", "year", "source", "pub-id"])
    spans = []
    for start, end in chosen:
        field = data.draw(names)
        role = "author" if field in ("surname", "given-names", "collab") else None
        spans.append(Span(start, end, field, role))
    answer = render(text, spans, data.draw(st.sampled_from([None, "journal", "book"])))
    matcher = Matcher(copy_grammar(text))
    assert matcher.accepts(answer)
    assert violation("copy", text, answer) is None
    assert not matcher.accepts(answer.replace("</mixed-citation>", "a</mixed-citation>"))


def test_the_gold_of_real_references_is_allowed(shared: Path, wellformed: Matcher) -> None:
    for name in ("scielo", "ore", "linkedbooks"):
        with gzip.open(shared / "data" / "refs" / f"{name}.jsonl.gz", "rt") as lines:
            rows = [json.loads(line) for line, _ in zip(lines, range(8), strict=False)]
        for row in rows:
            gold = project(row["plaintext"], row["xml"]).xml
            assert Matcher(copy_grammar(row["plaintext"])).accepts(gold), gold
            assert wellformed.accepts(gold), gold


def test_grammars_grow_with_the_text_and_no_faster() -> None:
    one, ten = (len(copy_grammar("Ito K. Foxes 2004. " * n)) for n in (10, 100))
    assert ten < 12 * one


def test_a_text_that_xml_cannot_hold_has_no_grammar() -> None:
    with pytest.raises(ValueError, match="cannot stand in XML"):
        grammar("copy", "Ito\x00K")
    assert grammar("none", "Ito\x00K") is None


def annotate(url: str, constrain: Any, *references: str) -> list[Any]:
    spec = LMSpec(model="hosted_vllm/m", api_base=url, extra_body={"min_p": 0.1})
    system = LMSystem("m", spec, load("zero-shot"), constrain=constrain)
    return asyncio.run(system.annotate(references))


@pytest.mark.parametrize("constrain", ["copy", "wellformed"])
def test_each_request_carries_the_grammar_of_its_reference(endpoint: Start, constrain: Any) -> None:
    server = endpoint(lambda body: (200, render(body["messages"][-1]["content"], ())))
    answers = annotate(server.url, constrain, REFERENCE, "Ito K.")
    assert [answer.error for answer in answers] == [None, None]
    for body in server.requests:
        expected = grammar(constrain, body["messages"][-1]["content"])
        assert body["structured_outputs"] == {"grammar": expected}
        assert body["min_p"] == 0.1


def test_without_a_constraint_none_is_sent(endpoint: Start) -> None:
    server = endpoint(lambda body: (200, "no XML"))
    (answer,) = annotate(server.url, "none", REFERENCE)
    assert (answer.text, answer.error) == ("no XML", None)
    assert "structured_outputs" not in server.requests[0]


@pytest.mark.parametrize(
    ("constrain", "answer", "says"),
    [
        ("copy", "<mixed-citation>Ito K</mixed-citation>", "its text is not the reference's"),
        ("copy", "Sure! <b>Ito", "not well-formed XML"),
        ("wellformed", "Sure! <b>Ito", "not well-formed XML"),
        ("wellformed", "<mixed-citation>Ito K</mixed-citation>", None),
    ],
)
def test_a_server_that_ignores_the_grammar_shows(
    endpoint: Start, constrain: Any, answer: str, says: str | None
) -> None:
    server = endpoint(lambda body: (200, answer))
    (found,) = annotate(server.url, constrain, "Ito K. Foxes.")
    if says is None:
        assert (found.error, found.text) == (None, answer)
    else:
        assert says in found.error
        assert "ignores `structured_outputs`" in found.error


def test_a_cut_answer_is_no_broken_grammar(endpoint: Start) -> None:
    cut = completion("<mixed-citation>Ito", finish_reason="length")
    (found,) = annotate(endpoint(lambda body: (200, cut)).url, "copy", "Ito K. Foxes.")
    assert (found.error, found.text) == (None, "<mixed-citation>Ito")
    assert found.finish_reason == "length"


def test_a_control_character_is_an_error_row_without_a_request(endpoint: Start) -> None:
    server = endpoint(lambda body: (200, ""))
    (found,) = annotate(server.url, "copy", "Ito\x08K")
    assert "No grammar for this reference: character" in found.error
    assert server.requests == []


def test_the_constraint_is_part_of_the_identity() -> None:
    spec = LMSpec(model="openai/m", api_base="http://127.0.0.1:1/v1")
    free, held = (
        LMSystem("m", spec, load("zero-shot"), constrain=c).identity() for c in ("none", "copy")
    )
    assert "constrain" not in free
    assert held == {**free, "constrain": "copy"}


def reno(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["reno", *arguments])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.mark.parametrize(
    ("system", "says"),
    [
        ("crf", "crf takes no --constrain"),
        ("grobid", "grobid takes no --constrain"),
        ("embedded", "reno serve BASE --vllm-python PYTHON"),
    ],
)
def test_systems_without_grammars_say_what_to_do(
    system: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = tmp_path / "refs.txt"
    lines.write_text("Ito K. Foxes. 2004.\n")
    out = tmp_path / "out.xml"
    code = reno(monkeypatch, "annotate", str(lines), "--out", str(out), "--system", system,
                "--constrain", "copy")  # fmt: skip
    assert code == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_the_command_constrains_and_counts(
    endpoint: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        text = body["messages"][-1]["content"]
        assert body["structured_outputs"]["grammar"] == copy_grammar(text)
        if "cut" in text:
            return 200, completion("<mixed-citation>Ito", finish_reason="length")
        return 200, render(text, [Span(0, 3, "surname", "author")])

    rows = [{"plaintext": f"Ito {t} 2004.", "xml": "<m><surname>Ito</surname></m>"}
            for t in ("K.", "& A.", "cut")]  # fmt: skip
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = tmp_path / "lm.yaml"
    recipe.write_text(f"name: m\nlm:\n  model: openai/m\n  api_base: {endpoint(answer).url}\n")
    out = tmp_path / "run"
    assert reno(monkeypatch, "evaluate", "--system", str(recipe), "--data", str(data), "--out",
                str(out), "--constrain", "copy", "--no-tracking") == 0  # fmt: skip
    report = json.loads((out / "report.json").read_text())
    assert (report["errors"], report["truncated"]) == (0, 1)
    assert report["valid_xml"] == pytest.approx(200 / 3, abs=0.01)
    assert report["fidelity"] == pytest.approx(200 / 3, abs=0.01)  # a cut answer is not faithful
    assert report["identity"]["constrain"] == "copy"


@pytest.fixture
def vllm(tmp_path: Path) -> Iterator[str]:
    """Where a real vLLM serves the embedded base, started by `reno serve`."""
    python = os.environ.get("RENO_VLLM_PYTHON")
    if not python:
        pytest.skip("RENO_VLLM_PYTHON does not name the Python of an environment with vLLM")
    cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    # A file, not a pipe: vLLM goes on writing, and a pipe that nobody reads would stop it.
    log = tmp_path / "server.log"
    with open(log, "w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "reno_dspy.cli", "serve", "smollm2-135m", "--vllm-python", python,
             "--", "--dtype", "float32", "--enforce-eager"],
            stdout=output, stderr=subprocess.STDOUT, env=os.environ | cpu,
        )  # fmt: skip
    try:
        while not (found := re.search(r"^Serving \S+ at (\S+)$", log.read_text(), re.MULTILINE)):
            assert server.poll() is None, log.read_text()[-2000:]
            time.sleep(0.5)
        yield found[1]
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_real_vllm_keeps_to_the_grammars(vllm: str) -> None:
    references = ["Ito K, Ōe A. Foxes & owls <sic>. 2004;12(3):1-9.", "Ito K. Owls. 2005."]
    spec = LMSpec(model="openai/smollm2-135m", api_base=vllm, max_tokens=300, timeout=600)

    async def answers(constrain: Constrain) -> list[Any]:
        system = LMSystem("m", spec, load("zero-shot"), constrain=constrain)
        found = await asyncio.gather(*(system.annotate([one]) for one in references))
        return [answer for (answer,) in found]

    kinds: tuple[Constrain, ...] = ("copy", "wellformed")
    for constrain in kinds:
        # An answer that breaks its grammar would be an error.
        assert [answer.error for answer in asyncio.run(answers(constrain))] == [None, None]
