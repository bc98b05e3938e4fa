"""What our GEPA job costs beside bare `dspy.GEPA`: same metric, budget, endpoint and threads.

    python benchmarks/gepa_overhead.py

A loopback endpoint answers after 20 ms, as a fast server does. Both make the same calls: no minibatch
repeats, and the student answers alike whatever its instructions, so no proposal is accepted. Ours also
keeps every answer and writes its run to a real MLflow store.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy

from programs.annotate import AnnotateReference
from programs.chat_format import PlainAdapter
from programs.config import LMSpec, Objective, OptimizeConfig
from programs.lm import make_lm
from programs.optimize.feedback import make_metric
from programs.optimize.fingerprint import Job
from programs.optimize.job import optimize, task_of
from programs.prompts import load
from reno_dspy.base.rundir import RunDir
from reno_dspy.data.dataset import Row
from tracking.mlflow_tracker import MlflowTracker

STORE = f"sqlite:///{Path(tempfile.mkdtemp()) / 'mlflow.db'}"
LATENCY_S, THREADS, CALLS, DEV, MINIBATCH, ROUNDS = 0.02, 16, 800, 64, 16, 3


class Handler(BaseHTTPRequestHandler):
    """Answers as student and, in either form asked for, as reflection LM."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self) -> None:
        """One chat completion."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        time.sleep(LATENCY_S)
        Handler.asked += 1
        text = "<mixed-citation><surname>A</surname></mixed-citation>"
        if "new_instruction" in body:
            text = json.dumps({"new_instruction": f"Instructions {Handler.asked}."})
        elif "improve the instructions" in body:
            text = f"<instructions>Instructions {Handler.asked}.</instructions>"
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        data = json.dumps(answer | {"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def rows(first: int, count: int) -> list[Row]:
    """References that no answer gets wholly right."""
    xml = "<mixed-citation><surname>A</surname><year>{n}</year></mixed-citation>"
    numbers = range(first, first + count)
    return [Row(None, f"A {n}", xml.format(n=n), "x", citing_article_id=str(n)) for n in numbers]


def bare(spec: LMSpec, train: list[Row], dev: list[Row], folder: Path) -> None:
    """`dspy.GEPA` as its documentation uses it."""
    gepa = dspy.GEPA(
        metric=make_metric(Objective()), max_metric_calls=CALLS, num_threads=THREADS,
        reflection_minibatch_size=MINIBATCH, reflection_lm=make_lm(spec), use_merge=False,
        log_dir=str(folder / "bare"), gepa_kwargs={"frontier_type": "hybrid"},
    )  # fmt: skip
    examples = [
        [dspy.Example(reference=r.plaintext, gold=r.xml).with_inputs("reference") for r in part]
        for part in (train, dev)
    ]
    with dspy.context(lm=make_lm(spec), adapter=PlainAdapter()):
        program = AnnotateReference(load("zero-shot"))
        gepa.compile(program, trainset=examples[0], valset=examples[1])


def ours(spec: LMSpec, train: list[Row], dev: list[Row], folder: Path) -> None:
    """The job, with its run directory and an MLflow store."""
    config = OptimizeConfig(
        data="-", out=folder / "ours", max_metric_calls=CALLS, minibatch=MINIBATCH, threads=THREADS
    )
    tracker, options = MlflowTracker(STORE), config.identity()
    with (
        RunDir.open(config.out, "optimize", options, depends_on={}) as run_dir,
        tracker.start("optimize", "x", run_dir=run_dir.path, config=options) as run,
    ):
        lms = make_lm(spec), make_lm(spec)
        job = Job(task_of(config), config, load("zero-shot"), train, dev, *lms)
        optimize(job, run_dir, run)


def measure(
    job: Callable[..., None], spec: LMSpec, train: list[Row], dev: list[Row]
) -> tuple[float, float]:
    """Wall and CPU seconds of one job in a fresh folder (the endpoint's CPU time included)."""
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        job(spec, train, dev, Path(folder))
        return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Time both in turn and print each time and the ratio of the best ones."""
    warnings.simplefilter("ignore")
    logging.getLogger("dspy").setLevel(logging.ERROR)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spec = LMSpec(model="hosted_vllm/m", api_base=f"http://127.0.0.1:{server.server_port}/v1")
    train, dev = rows(0, CALLS), rows(CALLS, DEV)
    with MlflowTracker(STORE).start("warm", "up", run_dir=Path(tempfile.mkdtemp()), config={}):
        print("An MLflow store is set up; that is not timed.")
    times: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    for number in range(ROUNDS):
        for name, job in (("bare", bare), ("ours", ours)):
            asked = Handler.asked
            wall, cpu = measure(job, spec, train, dev)
            times[name].append((wall, cpu))
            requests = Handler.asked - asked
            print(f"{number} {name}: {wall:.2f} s, {cpu:.2f} s CPU, {requests} requests")
    for kind, index in (("wall", 0), ("CPU", 1)):
        best = {name: min(pair[index] for pair in pairs) for name, pairs in times.items()}
        print(f"{kind}: ours / bare = {best['ours'] / best['bare']:.3f}")


if __name__ == "__main__":
    main()
