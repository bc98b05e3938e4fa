"""What a sample should be composed of, and the ways to draw it."""

from __future__ import annotations

from typing import Literal

# The paper's draw by weights, ours that is exact for a small pool, or whichever is needed.
Draw = Literal["auto", "gumbel", "corrected"]
# The composition of the published benchmark (paper, section 2.5), in percent; normalized when used
# (the platforms add up to 99).
PAPER_COMPOSITION: dict[str, dict[str, float]] = {
    "has_pid": {"true": 59, "false": 41},
    "citing_is_preprint": {"true": 14, "false": 86},
    "language": {"en": 32, "pt": 30, "es": 23, "fr": 7, "de": 3, "it": 2, "ru": 2, "zh": 1},
    "publication_type": {"journal": 53, "book": 30, "webpage": 8, "thesis": 5, "confproc": 4},
    "source": {"scielo": 47, "redalyc": 24, "ore": 14, "pkp": 14},
}
