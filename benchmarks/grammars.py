"""The grammars of constrained decoding in xgrammar itself: what they allow, how long they compile.

    python benchmarks/grammars.py --vllm-python VENV/bin/python ../shared/data/refs/scielo.jsonl.gz

For each of `--limit` references: the projected gold must be allowed token by token, and copies of it
with one change (text lost, added or altered, a tag unclosed or unknown, a bare `&`) refused. Then the
compile time by length of the text. xgrammar is that of the vLLM environment, with the embedded model's
tokenizer; that half of this script runs there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

END = "</mixed-citation>"
LENGTHS = (150, 300, 600, 2000)


def changed(gold: str) -> Iterator[str]:
    """Copies of `gold` with one change each that `copy` must refuse."""
    middle = gold.index(END) // 2
    middle = gold.index(">", middle) + 1
    for old, new in ((END, ""), (END, "x" + END), (END, "&" + END), (END, "<" + END),
                     (END, "<bold>x</bold>" + END), (END, END + " "), ("</surname>", ""),
                     ("</year>", "</volume>"), ("</year>", "</year><year></year>"),
                     ("<surname>", "<surname>Ж")):  # fmt: skip
        if old in gold:
            yield gold.replace(old, new, 1)
    yield gold[:middle] + "Ж" + gold[middle:]


def cases(data: str, limit: int) -> Iterator[dict[str, Any]]:
    """Grammars with what they must allow and refuse, then a text for each of `LENGTHS`."""
    from programs.constrain import copy_grammar, wellformed_grammar
    from reno_dspy.data.dataset import load
    from reno_dspy.jats.spans import project

    rows = load(data, None, limit).rows
    for row in rows:
        gold = project(row.plaintext or "", row.xml).xml
        yield {"name": "copy", "grammar": copy_grammar(row.plaintext or ""), "good": [gold],
               "bad": list(changed(gold))}  # fmt: skip
    golds = [project(row.plaintext or "", row.xml).xml for row in rows]
    ill = [g.replace(END, e) for g in golds for e in ("", "&" + END, "<b>x</b>" + END)]
    yield {"name": "wellformed", "grammar": wellformed_grammar(), "good": golds, "bad": ill}
    text = " ".join(row.plaintext or "" for row in rows)
    for length in LENGTHS:
        cut = text[:length]
        yield {"name": f"copy of {len(cut)} characters", "grammar": copy_grammar(cut)}


def check() -> None:
    """The half that runs in the vLLM environment: cases on standard input, a JSON object a line."""
    import xgrammar
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(sys.argv[2])
    size = len(tokenizer)
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
    compiler = xgrammar.GrammarCompiler(info, max_threads=2, cache_enabled=False)
    mask = xgrammar.allocate_token_bitmask(1, size)

    def allows(compiled: Any, answer: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        for token in tokenizer.encode(answer, add_special_tokens=False):
            matcher.fill_next_token_bitmask(mask)
            allowed = bool(int(mask[0, token // 32]) >> (token % 32) & 1)
            if not allowed or not matcher.accept_token(token):
                return False
        return bool(matcher.accept_token(tokenizer.eos_token_id))

    counts = {"allowed": 0, "refused": 0}
    for line in sys.stdin:
        case = json.loads(line)
        started = time.process_time()
        compiled = compiler.compile_grammar(case["grammar"])
        seconds = time.process_time() - started
        for expected, name in ((True, "good"), (False, "bad")):
            for answer in case.get(name, ()):
                if allows(compiled, answer) is not expected:
                    raise SystemExit(f"{case['name']}: must be {name}: {answer}")
                counts["allowed" if expected else "refused"] += 1
        if case["name"] != "copy":
            print(f"{case['name']:24} {len(case['grammar']) / 1000:8.0f} kB "
                  f"{seconds:6.2f} CPU s", flush=True)  # fmt: skip
    print(f"{counts['allowed']} answers allowed and {counts['refused']} refused, as they must be")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--vllm-python", required=True)
    parser.add_argument("--limit", type=int, default=40)
    options = parser.parse_args()
    from finetune.base import embedded_base

    child = subprocess.Popen(
        [options.vllm_python, Path(__file__), "--check", embedded_base()],
        stdin=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdin is not None
    with child.stdin as stdin:
        for case in cases(options.data, options.limit):
            stdin.write(json.dumps(case) + "\n")
    sys.exit(child.wait())


if __name__ == "__main__":
    check() if sys.argv[1:2] == ["--check"] else main()
