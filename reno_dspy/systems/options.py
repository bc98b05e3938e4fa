"""The options by which a job names its system and what the system should use."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from reno_dspy.base.config import Config, Free
from reno_dspy.base.engine import EngineName
from reno_dspy.systems import Constrain, registry


class SystemOptions(Config):
    """Base of the configurations of jobs that use a system."""

    system: str = Field(description="A system or a recipe (see below), or a file.")
    prompt: str | None = Field(
        None, description="Prompt: one that ships, a file, or prompts:/NAME/VERSION."
    )
    adapter: Path | None = Field(None, description="Adapter: an output directory of reno finetune.")
    api_base: Free[str | None] = Field(
        None, description="Endpoint to ask, instead of the recipe's."
    )
    max_tokens: int | None = Field(
        None, ge=1, description="Longest answer in tokens, instead of the recipe's."
    )
    constrain: Constrain = Field(
        "none",
        description="Grammar for vLLM: wellformed allows only well-formed JATS, copy also keeps the "
        "reference's text.",
    )
    concurrency: Free[int | None] = Field(
        None, ge=1, description="Requests at the same time, instead of the system's own number."
    )

    workers: Free[int] = Field(
        1, ge=1, description="Processes at once, for a system that runs in this program."
    )
    engine: Free[EngineName] = Field(
        "local", description="Where these processes are: on this machine, or on a Ray cluster."
    )

    @property
    def on_workers(self) -> bool:
        """Whether the system runs in other processes than this one."""
        return self.workers > 1 or self.engine != "local"

    @property
    def system_seed(self) -> int | None:
        """The seed that a system which samples takes instead of its recipe's; None leaves that one."""
        return None

    @model_validator(mode="after")
    def _the_system_takes_them(self) -> Self:
        fields = type(self).model_fields
        given = {name for name in registry.OPTIONS if getattr(self, name) != fields[name].default}
        if refusal := registry.refusal(self.system, given):
            raise ValueError(refusal)
        if self.on_workers and self.concurrency is not None:
            raise ValueError(
                "--workers says already how much is done at once; leave out --concurrency"
            )
        return self
