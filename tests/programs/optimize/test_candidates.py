"""Verdicts, the check for copied text, budgets: what the job says of itself."""

from __future__ import annotations

from collections import Counter

import pytest

from programs.config import OptimizeConfig
from programs.optimize import on_test
from programs.optimize.budget import auto_calls, plan, plan_job
from programs.optimize.candidates import (
    Candidate,
    best_of,
    copied_share,
    difference_on_dev,
    give_verdict,
)
from programs.optimize.reflection import read_proposal, write_material
from programs.prompts import Prompt
from reno_dspy.base.errors import InputError


def candidate(index: int, scores: list[float]) -> Candidate:
    prompt = Prompt(name=f"p{index}", instructions=f"I {index}")
    mean = sum(scores) / len(scores)
    return Candidate(index, (), prompt, mean, tuple(scores), {"year": mean}, 10 * index)


def verdict(seed: list[float], best: list[float], articles: int) -> str:
    pair = candidate(0, seed), candidate(1, best)
    clusters = [f"a{i % articles}" for i in range(len(seed))]
    return give_verdict(*pair, difference_on_dev(*pair, clusters), Counter(usable=3))


def test_a_sure_gain_is_an_improvement_and_says_where_it_was_chosen() -> None:
    said = verdict([0.2] * 20, [0.9] * 20, 20)
    assert said.startswith("Improvement: dev score 0.200 -> 0.900 (+70.0 points")
    assert "chosen on dev" in said


def test_a_gain_that_chance_could_give_is_none() -> None:
    seed = [0.5, 0.6, 0.4, 0.7, 0.5, 0.6]
    said = verdict(seed, [0.9, 0.5, 0.4, 0.7, 0.5, 0.5], 6)
    assert said.startswith("No sure improvement")


def test_one_article_gives_no_interval() -> None:
    assert "too few citing articles" in verdict([0.1] * 4, [0.9] * 4, 1)


def test_of_equal_candidates_the_seed_is_best() -> None:
    seed, other = candidate(0, [0.5, 0.5]), candidate(1, [0.5, 0.5])
    assert best_of([seed, other]) is seed


@pytest.mark.parametrize(
    ("proposals", "said"),
    [
        (
            {"usable": 1, "empty": 2},
            "none of 3 proposals (2 of them unusable) beat the seed prompt",
        ),
        (
            {"empty": 2, "unchanged": 1},
            "the reflection LM wrote no usable instructions in 3 proposals",
        ),
        ({}, "nothing was proposed"),
    ],
)
def test_no_improvement_says_what_stood_in_the_way(proposals: dict[str, int], said: str) -> None:
    seed = candidate(0, [0.5, 0.5])
    verdict = give_verdict(seed, seed, None, Counter(proposals))
    assert verdict.startswith(f"No improvement: {said}")


def test_copied_text_is_measured() -> None:
    references = ["Ferrand LM. Tidal memory in paper boats and other vessels. 2014."]
    copied = "For example: tidal memory in paper boats and other vessels. Tag it."
    assert copied_share("Tag surnames, initials and years; copy the text.", references) == 0.0
    assert copied_share(copied, references) == pytest.approx(8 / 12)
    assert copied_share("", references) == 0.0


def test_a_budget_by_name_follows_dev_and_minibatch() -> None:
    assert auto_calls("light", dev=24, minibatch=3) == 24 + 6 * (24 + 24)
    assert auto_calls("heavy", 24, 3) > auto_calls("medium", 24, 3) > auto_calls("light", 24, 3)


def test_what_a_budget_allows_is_said() -> None:
    planned = plan(120, dev=24, minibatch=3, min_proposals=2)
    assert (planned.at_least, planned.at_most) == (4, 16)
    assert "24 for the seed prompt on dev, then 4 to 16 proposals of 6 each" in str(planned)


@pytest.mark.parametrize("options", [{}, {"auto": "light", "max_metric_calls": 50}])
def test_a_budget_is_given_once(options: dict[str, object]) -> None:
    config = OptimizeConfig.model_validate({"data": "d", "out": "o"} | options)
    with pytest.raises(InputError, match="Give the budget once"):
        plan_job(config, 10)


GOOD = "Tag each author on its own."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("<instructions>\nA.\nB.\n</instructions>", "A.\nB."),
        ("Here:\n<instructions>```\nA.\n```</instructions> Done.", "A."),
        ("<instructions>The end tag is forgotten.", "The end tag is forgotten."),
        ("A.", None),
        # The tags are mentioned before, after or inside the block that is meant.
        (
            f"I answer between <instructions> and </instructions>.\n<instructions>{GOOD}</instructions>",
            GOOD,
        ),
        (
            f"<instructions>{GOOD}</instructions> All between <instructions> and </instructions>.",
            GOOD,
        ),
        (f"The tag <instructions> comes first. <instructions>{GOOD}</instructions>", GOOD),
        (
            f"<instructions>{GOOD} Like <instructions>x</instructions>.</instructions>",
            f"{GOOD} Like <instructions>x</instructions>.",
        ),
        (
            f"<instructions>Draft of a rule that is long.</instructions> Or: <instructions>{GOOD}"
            "</instructions>",
            GOOD,
        ),
        (
            f"<think>Between <instructions> and </instructions>.</think><instructions>{GOOD}"
            "</instructions>",
            GOOD,
        ),
        (
            f"So <instructions>a draft of mine</instructions>?</think><instructions>{GOOD}"
            "</instructions>",
            GOOD,
        ),
        ("<think>Let me write <instructions>a draft of mine</instructions>", None),
    ],
)
def test_proposals_are_read(answer: str, text: str | None) -> None:
    assert read_proposal(answer, "current", 100)[0] == text


def test_too_few_articles_are_said_as_in_compare() -> None:
    seed, best = candidate(0, [0.2] * 8), candidate(1, [1.0] * 8)
    two = ["a", "b"] * 4
    said = give_verdict(seed, best, difference_on_dev(seed, best, two), Counter(usable=1))
    assert said.startswith(
        "Better on dev, but too few articles to tell (2): dev score 0.200 -> 1.000"
    )
    assert "chance" not in said
    assert "too few articles to tell (2)." in on_test.sentence([0.2] * 8, [1.0] * 8, two)


def test_the_reflection_lm_reads_answers_with_their_feedback() -> None:
    example = {
        "Inputs": {"reference": "A. 1999."},
        "Generated Outputs": {"annotation": "<think>Hm.</think><x/>"},
        "Feedback": "Score 0.",
    }
    assert write_material("Tag.", [example]) == (
        "THE INSTRUCTIONS:\nTag.\n\nEXAMPLE 1\nInput: A. 1999.\nAnswer: <x/>\nFeedback: Score 0."
    )
