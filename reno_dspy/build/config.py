"""The options of `reno build`, apart from the job so that the command line need not load it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from reno_dspy.base.config import Config, Free
from reno_dspy.base.engine import EngineName
from reno_dspy.base.failures import MAX_ERRORS, MaxErrors
from reno_dspy.build.target import PAPER_COMPOSITION, Draw

StageName = Literal["convert", "extract", "match", "filter", "describe", "sample", "split"]
STAGES: tuple[str, ...] = get_args(StageName)


class BuildConfig(Config):
    """Options of `reno build`."""

    corpus: Path = Field(
        description="Manifest (TSV: id pdf xml source doi), or folder of NAME.pdf + NAME.xml."
    )
    out: Free[Path] = Field(
        description="Run directory and data set; an unfinished build is resumed."
    )
    source: str | None = Field(None, description="Platform of articles whose manifest names none.")
    limit: int | None = Field(
        None, ge=1, description="Build from that many articles, the first ones."
    )
    seed: int = Field(0, description="Seed of the sample and of the split.")
    workers: Free[int] = Field(
        default_factory=lambda: os.cpu_count() or 1, ge=1, description="Processes at once."
    )
    engine: Free[EngineName] = Field(
        "local", description="Where the work is done: processes here, or Ray."
    )
    extractor: str = Field(
        "rules", description="`rules`, or the LM (name or YAML file) that extracts references."
    )
    describer: str = Field(
        "rules", description="`rules`, or the LM that tells language and identifiers."
    )
    concurrency: Free[int] = Field(4, ge=1, description="Articles given to an LM at once.")
    max_errors: MaxErrors = MAX_ERRORS
    timeout_s: float = Field(
        60,
        gt=0,
        description="Seconds that converting one PDF, and finding its references, may each take.",
    )
    memory_mb: int = Field(2048, ge=256, description="Memory (MB) that each of the two may take.")
    threshold: float = Field(0.75, ge=0, le=1, description="Lowest similarity of a match.")
    n: int = Field(10_000, ge=1, description="Rows to sample (all of them when there are fewer).")
    draw: Draw = Field(
        "auto", description="By weights (gumbel), corrected for a small pool, or as needed (auto)."
    )
    target: dict[str, dict[str, float]] = Field(
        default_factory=lambda: PAPER_COMPOSITION,
        description="Wanted composition: feature -> value -> weight; the paper's unless given.",
    )
    train: float = Field(0.6, ge=0, le=1, description="Share of rows for training.")
    dev: float = Field(
        0.15, ge=0, le=1, description="Share of rows for choosing; test is the rest."
    )
    push_to_hub: Free[str | None] = Field(
        None, description="Hub repository (OWNER/NAME) that the data set is uploaded to."
    )
    stage: Free[StageName | None] = Field(
        None, description="Do this stage again (later ones follow where its rows changed)."
    )

    @model_validator(mode="after")
    def _test_has_a_share(self) -> Self:
        if self.train + self.dev >= 1:
            raise ValueError("train + dev must leave a share for test (be below 1)")
        return self
