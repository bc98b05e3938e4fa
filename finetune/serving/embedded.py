"""The system `embedded`: the model that ships, with the adapter that ships or one of your own.

    reno evaluate --system embedded --data DATA --out DIR [--adapter RUN]

It has a server of its own, which `start` starts: a finished evaluation that is run again needs none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from finetune.base import EMBEDDED
from finetune.manifest import PROMPT, Adapter, load_adapter
from finetune.serving.job import local_server
from programs import prompts
from programs.annotate import LMSystem
from programs.lm import LMSpec
from reno_dspy.base.errors import InputError
from reno_dspy.base.extras import require
from reno_dspy.systems import Completion
from reno_dspy.systems.options import SystemOptions

SHIPPED = Path(__file__).parents[1] / "adapters" / EMBEDDED


class EmbeddedSystem:
    """SmolLM2-135M-Instruct on this machine, as a `reno_dspy.systems.System`.

    `adapter` is an adapter of `reno finetune`; without one the bare base answers. `prompt` replaces the
    prompt that the adapter was trained with (for the base: two-shot). Close it to stop its server.
    Raises InputError for an adapter that does not fit.
    """

    batch_size = 1
    concurrency = 8

    def __init__(
        self,
        adapter: Path | None = None,
        prompt: str | None = None,
        max_tokens: int | None = None,
        log: Path = Path("embedded.server.log"),
    ) -> None:
        self._adapter = load_adapter(adapter) if adapter else None
        if self._adapter and self._adapter.manifest.labels:
            raise InputError(f"{adapter} is a tagger's adapter: --system tagger-smollm2.")
        self.prompt = prompts.load(prompt or _own_prompt(self._adapter))
        self._max_tokens = max_tokens or 1024
        self._log = log
        self._stack = ExitStack()
        self._system: LMSystem | None = None
        self.model = self._adapter.name() if self._adapter else EMBEDDED
        self.name = self.model

    @classmethod
    def from_options(cls, options: SystemOptions, log: Path) -> Self:
        """The base with the adapter in `options.adapter` or the one that ships; or the base alone.

        The base is what `smollm2-135m` names, with an adapter it is `embedded`.
        """
        # Most memory is used by the server, which is another process.
        require("serve", f"--system {options.system}")
        adapter = None if options.system == EMBEDDED else options.adapter or SHIPPED
        return cls(adapter, options.prompt, options.max_tokens, log)

    def identity(self) -> Mapping[str, str]:
        """Model with the adapter's digest, prompt and longest answer."""
        digest = {"adapter_digest": self._adapter.digest} if self._adapter else {}
        return digest | {
            "model": self.model,
            "temperature": "0.0",
            "max_tokens": str(self._max_tokens),
            "prompt": self.prompt.name,
            "prompt_digest": self.prompt.digest,
        }

    def prompt_text(self) -> str:
        """The instructions and the worked examples."""
        return self.prompt.text

    async def start(self) -> None:
        """Start the server. Raises JobError when it does not come up."""
        if self._system is None:
            self._system = await asyncio.to_thread(self._serve)

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """One request a reference; a failed one is a Completion with `error`."""
        assert self._system, "start() comes first"
        return await self._system.annotate(references)

    def close(self) -> None:
        """Stop the server, if it was started."""
        self._stack.close()

    def _serve(self) -> LMSystem:
        path = self._adapter.path if self._adapter else None
        endpoint = self._stack.enter_context(local_server(EMBEDDED, path, self._log))
        spec = LMSpec(
            model=f"openai/{endpoint.model}",
            api_base=endpoint.api_base,
            temperature=0.0,
            max_tokens=self._max_tokens,
        )
        return LMSystem(self.name, spec, self.prompt, self.concurrency)


def _own_prompt(adapter: Adapter | None) -> str:
    return str(adapter.path / PROMPT) if adapter else "two-shot"
