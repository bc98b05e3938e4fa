"""What the evaluation costs on top of the LM: references per second against an instant endpoint.

    python benchmarks/evaluating.py

A local endpoint answers every request after 20 ms; 2,000 references, 64 at once. `reno evaluate` should
reach 90 % of the rate of the bare DSPy program. What aiohttp and httpx reach with the same requests
stands beside it: the gap is what DSPy itself costs. CPU is that of this process.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import click

LATENCY_S = 0.02
ANSWER = "<mixed-citation><surname>Smith</surname></mixed-citation>"


@click.command()
@click.option("--references", default=2_000, show_default=True)
@click.option("--at-once", default=64, show_default=True)
@click.option("--rounds", default=3, show_default=True, help="Best of that many, alternating.")
def main(references: int, at_once: int, rounds: int) -> None:
    """Print the rate of every way to ask the endpoint."""
    ways: dict[str, Callable[[str, list[str], int], float]] = {
        "reno evaluate": with_evaluate,
        "dspy acall": with_dspy,
        "httpx": with_httpx,
        "aiohttp": with_aiohttp,
    }
    texts = [f"Smith A. On things {i}. J Made Up. 2014;{i}." for i in range(references)]
    best = dict.fromkeys(ways, 0.0)
    work = dict.fromkeys(ways, float("inf"))
    with endpoint() as url:
        for _ in range(rounds):
            for name, way in ways.items():
                start = time.process_time()
                best[name] = max(best[name], references / way(url, texts, at_once))
                work[name] = min(work[name], (time.process_time() - start) / references)
    for name, rate in best.items():
        click.echo(f"{name:<14}{rate:>6.0f} references/s, {1000 * work[name]:.2f} ms of CPU each")
    share = 100 * best["reno evaluate"] / best["dspy acall"]
    click.echo(f"reno evaluate reaches {share:.0f} % of bare dspy")


def with_evaluate(url: str, texts: list[str], at_once: int) -> float:
    """Seconds that `reno evaluate` takes, from the first request to the last written answer."""
    from reno_dspy.base.rundir import RunDir
    from reno_dspy.base.tracker import NullRun
    from reno_dspy.data.dataset import Row
    from reno_dspy.measure.job import EvaluateConfig, answer

    rows = tuple(Row(None, text, ANSWER, "made", citing_article_id=text) for text in texts)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        config = EvaluateConfig(system="made", data="made", out=out, concurrency=at_once)
        system = _system(url)
        started = time.perf_counter()
        records = answer(system, rows, RunDir(out), config, NullRun())
        seconds = time.perf_counter() - started
        assert all(record["error"] is None for record in records)
    return seconds


def with_dspy(url: str, texts: list[str], at_once: int) -> float:
    """Seconds of the same program, called without the evaluation around it."""
    import dspy

    from programs.annotate import AnnotateReference
    from programs.chat_format import PlainAdapter
    from programs.lm import make_lm

    system = _system(url)
    program, lm = AnnotateReference(system.prompt), make_lm(system.spec)

    async def ask(text: str) -> None:
        with dspy.context(lm=lm, adapter=PlainAdapter()):
            prediction = await program.acall(reference=text)
        assert prediction.annotation == ANSWER

    return asyncio.run(_timed(ask, texts, at_once))


def with_httpx(url: str, texts: list[str], at_once: int) -> float:
    """Seconds of the same requests through httpx."""
    import httpx

    async def run() -> float:
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:

            async def ask(text: str) -> None:
                answer = await client.post(f"{url}/chat/completions", json=_request(text))
                assert answer.json()["choices"][0]["message"]["content"] == ANSWER

            return await _timed(ask, texts, at_once)

    return asyncio.run(run())


def with_aiohttp(url: str, texts: list[str], at_once: int) -> float:
    """Seconds of the same requests through aiohttp."""
    import aiohttp

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as client:

            async def ask(text: str) -> None:
                async with client.post(f"{url}/chat/completions", json=_request(text)) as answer:
                    found = await answer.json()
                assert found["choices"][0]["message"]["content"] == ANSWER

            return await _timed(ask, texts, at_once)

    return asyncio.run(run())


async def _timed(ask: Callable[[str], Awaitable[None]], texts: list[str], at_once: int) -> float:
    pending = iter(texts)

    async def work() -> None:
        for text in pending:
            await ask(text)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return time.perf_counter() - start


def _system(url: str) -> Any:
    from programs import prompts
    from programs.annotate import LMSystem
    from programs.config import LMSpec

    spec = LMSpec(model="openai/made", api_base=url, max_tokens=512)
    return LMSystem("made", spec, prompts.load("two-shot"))


@cache
def _shots() -> list[dict[str, str]]:
    from programs import prompts

    prompt = prompts.load("two-shot")
    messages = [{"role": "system", "content": prompt.instructions}]
    for demo in prompt.demos:
        messages.append({"role": "user", "content": demo.reference})
        messages.append({"role": "assistant", "content": demo.annotation})
    return messages


def _request(text: str) -> dict[str, Any]:
    messages = [*_shots(), {"role": "user", "content": text}]
    return {"model": "made", "messages": messages, "max_tokens": 512, "temperature": 0.0}


@contextmanager
def endpoint() -> Iterator[str]:
    """An endpoint in a process of its own, so that it takes no time from those who ask."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        finally:
            server.terminate()


async def _serve() -> None:
    answer = {
        "id": "made", "object": "chat.completion", "created": 0, "model": "made",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": ANSWER}}],
        "usage": {"prompt_tokens": 600, "completion_tokens": 20, "total_tokens": 620},
    }  # fmt: skip
    body = json.dumps(answer).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = request.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                await asyncio.sleep(LATENCY_S)
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(_serve())
    else:
        main()
