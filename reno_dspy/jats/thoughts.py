"""What a reasoning model thinks aloud before it answers: `<think> ... </think>`.

Drafts, guesses and quotes of the instructions stand in there, so no reader of answers may see it.
Everything that reads a language model's answer takes it out here.
"""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def without_thoughts(answer: str) -> tuple[str, bool]:
    """`answer` without the thoughts it begins with, and whether it had any.

    A chat template may put the opening tag into the prompt, so a closing tag alone ends a thought as
    well. A thought that is never closed (the answer was cut off) leaves nothing. Tags further on in the
    answer are part of it: instructions may well speak of them.
    """
    rest = answer.lstrip()
    end = _end_of_thought(rest, or_closing=True)
    if end is None:
        return answer, False
    while end is not None:
        rest = rest[end:].lstrip()
        end = _end_of_thought(rest, or_closing=False)
    return rest, True


def _end_of_thought(text: str, *, or_closing: bool) -> int | None:
    """Where the thought that `text` begins with ends; None where it begins with none.

    `or_closing` takes a closing tag without an opening one for the end of a thought.
    """
    tags = list(_TAG.finditer(text))
    if not tags or (tags[0].group(1) and not or_closing):
        return None
    if not tags[0].group(1) and tags[0].start() > 0:
        return None
    return next((tag.end() for tag in tags if tag.group(1)), len(text))
