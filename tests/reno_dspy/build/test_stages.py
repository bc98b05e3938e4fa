"""The table of stages agrees with the options, and running one by hand needs nothing else."""

from __future__ import annotations

from itertools import pairwise

from reno_dspy.build.config import STAGES as NAMES
from reno_dspy.build.stages import STAGES


def test_every_stage_can_be_named_by_an_option() -> None:
    assert tuple(stage.name for stage in STAGES) == NAMES


def test_each_stage_counts_in_what_the_one_before_counts_out() -> None:
    for before, after in pairwise(STAGES):
        assert before.units[1] == after.units[0]
