"""The options of `reno synthesize`, apart from the job so that the command line need not load it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from reno_dspy.base.config import Config, Free
from reno_dspy.data.noise import Noise

NOISE = Noise(
    lost_space=0.04, hyphenation=0.05, ligature=0.04, slashes=0.02, locators=0.02, subtitles=0.06,
    accents=0.05, full_width=0.5, no_break=0.03, zero_width=0.02, ocr=0.03, quotes=0.3, dashes=0.35,
)  # fmt: skip


class SynthesizeConfig(Config):
    """Options of `reno synthesize`."""

    metadata: tuple[str, ...] = Field(
        min_length=1,
        description="CSL-JSON (.json, .jsonl, .jsonl.gz), BibTeX (.bib), or data sets whose gold is read.",
    )
    out: Free[Path] = Field(description="Run directory and data set; an unfinished run is resumed.")
    n: int = Field(20_000, ge=1, description="Rows to make.")
    styles: str = Field(
        "all", description="`all`, a folder of CSL files, or style names separated by commas."
    )
    style: Path | None = Field(None, description="One CSL file (a house style), in their place.")
    locale: str | None = Field(None, description="Locale of every reference (pt-BR, ...).")
    mix: Literal["balanced", "given"] = Field(
        "balanced",
        description="Kinds and languages balanced, lacking ones made up; or as the metadata give them.",
    )
    exclude: tuple[str, ...] = Field(
        (), description="Data sets whose cited works are left out (PATH or PATH:SPLIT)."
    )
    add: tuple[str, ...] = Field(
        (), description="Data sets of real rows to put beside the rendered ones (train and dev)."
    )
    licences: tuple[str, ...] = Field((), description="Licences that items must have; () is any.")
    test: float = Field(
        0.05, ge=0, lt=1, description="Share of works that are never trained on, by title."
    )
    dev: float = Field(0.05, ge=0, lt=1, description="Share of works for choosing, by title.")
    noise: Noise = Field(NOISE, description="Defects of PDF text, each with its probability.")
    seed: int = Field(0, description="Seed of every draw.")
    workers: Free[int] = Field(
        default_factory=lambda: os.cpu_count() or 1, ge=1, description="Processes at once."
    )
