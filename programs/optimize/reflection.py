"""Reflection: a language model reads what went wrong and writes better instructions.

One plain call: the instructions as they are, a few answers with feedback, and the rule that the new
instructions stand between `<instructions>` and `</instructions>`. An answer that holds none, or that
could not work, is counted as unusable; it ends nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from dspy.utils.exceptions import LMError

from programs.chat_format import PlainAdapter
from programs.optimize.answers import Answers, Spent, add_up
from programs.reply import FAILURE, NoContent, last_usage
from programs.trouble import explain
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.jats.thoughts import without_thoughts

# Raised when the reflection LM is asked otherwise, or its answers are read otherwise.
VERSION = 1
# A reflection LM that fails this often in a row will not come back by itself.
MAX_FAILURES_IN_A_ROW = 3

# Characters of the shortest text that can be instructions, and not words between two mentioned tags.
_SHORTEST = 20

_OPEN = "<instructions>"
_TAG = re.compile(r"</?instructions>")
_FENCE = re.compile(r"\A```[^\n]*\n(.*?)\n?```\Z", re.DOTALL)


class Reflect(dspy.Signature):  # type: ignore[misc]
    """You improve the instructions that a language model works by.

    You get the instructions, and some of its answers with feedback. Find what the errors have in
    common and write instructions that prevent them: general rules and knowledge about references,
    not these very examples. Keep every rule on the form of the answer that the instructions have.
    Copy no reference from the examples. Answer with the whole new instructions between
    <instructions> and </instructions>, and with nothing else.
    """

    material: str = dspy.InputField()
    answer: str = dspy.OutputField()


class Proposer:
    """GEPA's instruction proposer. Every proposal is kept, usable or not, and counted.

    It is a callback of GEPA as well, so that it knows in which iteration it is asked: an iteration that
    a killed session began is gone through again, and counts once.
    """

    def __init__(self, answers: Answers, log: JsonlLog, max_chars: int) -> None:
        self._answers = answers
        self._log = log
        self._max_chars = max_chars
        self._rows = log.read()
        self._failures_in_a_row = 0
        self._iteration = -1
        self._reflect = dspy.Predict(Reflect)

    def on_iteration_start(self, event: Mapping[str, Any]) -> None:
        """Note the iteration that begins."""
        self._iteration = int(event["state"].i)

    def __call__(
        self,
        candidate: Mapping[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: Sequence[str],
    ) -> dict[str, str]:
        """New instructions by component; one without a usable proposal is left out."""
        proposals = {}
        for name in components_to_update:
            examples = [one for one in reflective_dataset.get(name, ()) if not _failed(one)]
            if examples and not self._answers.stopped:
                text = self._propose(candidate[name], examples)
                if text is not None:
                    proposals[name] = text
        return proposals

    def counts(self) -> Counter[str]:
        """Proposals by outcome: "usable" or the reason why not, earlier sessions included."""
        return Counter(self._outcomes().values())

    def since(self, iteration: int) -> int:
        """How many proposals were asked for after `iteration`."""
        return sum(one > iteration for one in self._outcomes())

    def thoughts(self) -> int:
        """How many answers began with thoughts."""
        return sum(without_thoughts(row["answer"])[1] for row in self._rows)

    def spent(self) -> Spent:
        """What all reflection calls took, earlier sessions included."""
        return add_up(self._rows)

    def _outcomes(self) -> dict[int, str]:
        return {row["iteration"]: row["outcome"] for row in self._rows}

    def _propose(self, current: str, examples: Sequence[Mapping[str, Any]]) -> str | None:
        lm = dspy.settings.lm.copy()
        try:
            with dspy.context(lm=lm, adapter=PlainAdapter()):
                answer = self._reflect(material=write_material(current, examples)).answer
        except NoContent as error:
            self._failures_in_a_row = 0
            self._keep("no answer", explain(error, lm), last_usage(lm))
            return None
        except LMError as error:
            self._failed(explain(error, lm))
            return None
        self._failures_in_a_row = 0
        usage = last_usage(lm)
        text, outcome = read_proposal(answer, current, self._max_chars)
        if text is not None and usage["finish_reason"] == "length":
            text, outcome = None, "cut off by the longest answer"
        self._keep(outcome, answer, usage)
        return text

    def _failed(self, reason: str) -> None:
        self._keep("request failed", reason, {})
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
            self._answers.failure = f"The reflection LM failed again and again: {reason}"

    def _keep(self, outcome: str, answer: str, usage: Mapping[str, Any]) -> None:
        row = {"iteration": self._iteration, "outcome": outcome, "answer": answer, **usage}
        self._rows.append(row)
        with self._log.appending() as log:
            log.write(row)


def ask_for_a_trial() -> None:
    """Make one short request as a proposal makes it, with the LM and adapter of the DSPy context."""
    dspy.Predict(Reflect)(material="THE INSTRUCTIONS:\nTag the authors.")


def _failed(example: Mapping[str, Any]) -> bool:
    """Whether an example has no answer to learn from, since its request failed."""
    outputs = example["Generated Outputs"]
    return isinstance(outputs, Mapping) and FAILURE in outputs


def write_material(current: str, examples: Sequence[Mapping[str, Any]]) -> str:
    """What the reflection LM reads: the instructions, then answers with their feedback."""
    parts = [f"THE INSTRUCTIONS:\n{current}"]
    for number, example in enumerate(examples, start=1):
        text = "\n".join(str(value) for value in example["Inputs"].values())
        outputs = example["Generated Outputs"]
        answer = "\n".join(map(str, outputs.values())) if isinstance(outputs, Mapping) else outputs
        shown = without_thoughts(str(answer))[0][:2000]
        parts.append(
            f"EXAMPLE {number}\nInput: {text}\nAnswer: {shown}\nFeedback: {example['Feedback']}"
        )
    return "\n\n".join(parts)


def read_proposal(answer: str, current: str, max_chars: int) -> tuple[str | None, str]:
    """The proposed instructions and "usable", or None and the reason why they are not."""
    text = _instructions_in(without_thoughts(answer)[0])
    if text is None:
        return None, "no instructions in the answer"
    fence = _FENCE.match(text)
    text = fence.group(1).strip() if fence else text
    if not text:
        return None, "empty"
    if len(text) > max_chars:
        return None, f"longer than {max_chars} characters"
    if text == current.strip():
        return None, "unchanged"
    return text, "usable"


def _instructions_in(answer: str) -> str | None:
    """What the last whole `<instructions>` block holds; None without an opening tag.

    Tags nest: a block inside another one is part of it. Models also mention the tags before or after
    they use them ("between <instructions> and </instructions>"), so what is shorter than any
    instructions counts only where nothing else is there. A block that is never closed runs to the end.
    """
    open_at: list[int] = []
    blocks: list[tuple[int, int]] = []
    for tag in _TAG.finditer(answer):
        if tag.group() == _OPEN:
            open_at.append(tag.end())
        elif open_at:
            start = open_at.pop()
            blocks = [block for block in blocks if block[0] < start] + [(start, tag.start())]
    texts = [answer[start:end].strip() for start, end in blocks]
    if not texts and open_at:
        return answer[open_at[-1] :].strip()
    long_enough = [text for text in texts if len(text) >= _SHORTEST]
    return next(reversed(long_enough or texts), None)
