"""The system `tagger-smollm2`: a tagger that you trained on a language model, in this process.

reno annotate refs.txt --system tagger-smollm2 --adapter RUN --out refs.xml
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from finetune.base import resolve_base
from finetune.manifest import load_adapter
from finetune.models import load_tokenizer
from finetune.recipe import TaggerOptions
from finetune.tagger.annotating import Annotator
from finetune.tagger.model import trained_model
from reno_dspy.base.errors import InputError
from reno_dspy.systems import Completion
from reno_dspy.systems.batches import complete_batch
from reno_dspy.systems.options import SystemOptions


class Tagger:
    """A tagger as a `reno_dspy.systems.System`; `start` loads its network."""

    name = "tagger-smollm2"
    batch_size = 64
    concurrency = 1

    def __init__(self, adapter: Path) -> None:
        """Check `adapter`. Raises InputError when there is none or it is a language model's."""
        self._adapter = load_adapter(adapter)
        if not self._adapter.manifest.labels:
            raise InputError(
                f"{adapter} is a language model's adapter, not a tagger's: --system embedded."
            )
        self._annotator: Annotator | None = None

    @classmethod
    def from_options(cls, options: SystemOptions, _log: Path) -> Self:
        """The tagger in `options.adapter`. Raises InputError when none is named."""
        if options.adapter is None:
            raise InputError(
                f"--system {cls.name} needs --adapter DIR, a run of `reno finetune tagger-smollm2`."
            )
        return cls(options.adapter)

    def identity(self) -> Mapping[str, str]:
        """The model with the adapter's digest."""
        return {"model": self._adapter.name(), "adapter_digest": self._adapter.digest}

    async def start(self) -> None:
        """Load the network. Raises InputError when its base is missing or another one."""
        if self._annotator is None:
            self._annotator = await asyncio.to_thread(self._load)

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references together; one that XML cannot hold is an error row."""
        assert self._annotator, "start() comes first"
        return await asyncio.to_thread(complete_batch, self._annotator.annotate, references)

    def _load(self) -> Annotator:
        manifest = self._adapter.manifest
        base = resolve_base(manifest.base)
        load_adapter(self._adapter.path, base)
        options = TaggerOptions.model_validate(manifest.recipe["tagger"])
        model = trained_model(base, self._adapter, options)
        return Annotator(model, load_tokenizer(base), manifest.labels, options)
