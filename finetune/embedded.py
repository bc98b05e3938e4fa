"""The embedded model as a system: SmolLM2-135M on this machine, with an adapter or without one.

reno evaluate --system embedded --data DATA --out DIR
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from finetune.base import EMBEDDED, resolve_base
from finetune.manifest import Adapter, load_adapter
from finetune.serve import SLOTS, local_server
from programs import prompts
from programs.annotate import LMSystem
from programs.config import LMSpec
from programs.prompts import Prompt
from reno_dspy.errors import InputError
from reno_dspy.systems import Completion

# The adapter that ships; without one the base answers, shown two worked examples.
SHIPPED = Path(__file__).parent / "adapters" / EMBEDDED
MAX_TOKENS = 1024


class EmbeddedSystem:
    """A `reno_dspy.systems.System` whose server starts with the first reference.

    An adapter is asked with the prompt it was trained on, the bare base with two worked examples,
    unless `prompt` says otherwise.
    """

    batch_size = 1
    concurrency = SLOTS

    def __init__(
        self,
        *,
        log: Path,
        adapter: Path | None = None,
        prompt: str | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """Check base, adapter and prompt. Raises InputError for one that is missing or does not fit."""
        self._adapter = _find_adapter(adapter)
        self.name = self._adapter.name() if self._adapter else EMBEDDED
        self._prompt = prompts.load(prompt) if prompt else _prompt_of(self._adapter)
        self._max_tokens = max_tokens or MAX_TOKENS
        self._log = log
        self._server = ExitStack()
        self._starting = asyncio.Lock()
        self._system: LMSystem | None = None

    def identity(self) -> Mapping[str, str]:
        """Model, prompt, sampling options and the adapter's digest."""
        found = dict(self._served("http://unserved.invalid/v1").identity())
        return found | ({"adapter_digest": self._adapter.digest} if self._adapter else {})

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate with the local server. Raises JobError when it cannot be started."""
        system = self._system or await self._started()
        return await system.annotate(references)

    async def _started(self) -> LMSystem:
        async with self._starting:
            self._system = self._system or await asyncio.to_thread(self._start)
            return self._system

    def close(self) -> None:
        """Stop the server, if it was started."""
        self._server.close()

    def _start(self) -> LMSystem:
        adapter = self._adapter.path if self._adapter else None
        endpoint = self._server.enter_context(local_server(EMBEDDED, adapter, self._log))
        return self._served(endpoint.api_base)

    def _served(self, api_base: str) -> LMSystem:
        spec = LMSpec(
            model=f"openai/{self.name}", api_base=api_base, max_tokens=self._max_tokens, timeout=900
        )
        return LMSystem(self.name, spec, self._prompt, SLOTS)


def _find_adapter(path: Path | None) -> Adapter | None:
    chosen = path or (SHIPPED if SHIPPED.exists() else None)
    return load_adapter(chosen, resolve_base(EMBEDDED)) if chosen else None


def _prompt_of(adapter: Adapter | None) -> Prompt:
    if adapter is None:
        return prompts.load("two-shot")
    prompt = prompts.load(adapter.manifest.prompt)
    if prompt.digest != adapter.manifest.prompt_digest:
        raise InputError(
            f"{adapter.path} was trained on another version of the prompt {prompt.name!r} "
            f"({adapter.manifest.prompt_digest}, here {prompt.digest}). Name one with --prompt."
        )
    return prompt
