"""The options of `reno fetch`, apart from the job so that the command line need not load it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from reno_dspy.base.config import Config, Free


class FetchConfig(Config):
    """Options of `reno fetch`."""

    platform: str = Field(description="ore, pkp, redalyc, scielo, or another of --platforms.")
    out: Free[Path] = Field(description="Corpus directory; an unfinished fetch there is resumed.")
    contact: Free[str] = Field(description="Your e-mail address, which the servers are told.")
    jats: Path | None = Field(None, description="Folder of JATS files (redalyc, scielo).")
    platforms: Path | None = Field(None, description="YAML file of addresses, for the shipped one.")
    limit: Free[int | None] = Field(None, ge=1, description="Fetch the first so many articles.")
    interval_s: Free[float] = Field(
        1.0, ge=0, description="Seconds between two requests to a host."
    )
    retries: Free[int] = Field(4, ge=0, description="Tries after the first.")
    backoff_s: Free[float] = Field(
        2.0, ge=0, description="Seconds before the first retry; then doubled."
    )
    deadline_s: Free[float] = Field(
        300.0, gt=0, description="Seconds that one try of one file may take."
    )
