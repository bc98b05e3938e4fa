"""The options of a job that say which system it uses, and how that is asked."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from reno_dspy.base.config import Config
from reno_dspy.systems import Constrain


class SystemOptions(Config):
    """Base of the configurations of jobs that use a system."""

    system: str = Field(
        description="Name of a system that ships, or a YAML file that tells of one."
    )
    prompt: str | None = Field(None, description="Prompt: a name that ships, or a prompt file.")
    adapter: Path | None = Field(None, description="Output directory of `reno finetune` to use.")
    api_base: str | None = Field(None, description="Endpoint of the system, over its recipe's.")
    max_tokens: int | None = Field(None, ge=1, description="Longest answer, over the recipe's.")
    constrain: Constrain = Field("none", description="Grammar for vLLM; copy keeps the whole text.")
    concurrency: int | None = Field(None, ge=1, description="Calls at once, over the system's.")
