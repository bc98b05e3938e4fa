"""Markdown of an article -> its references, verbatim, by an LM (paper, section 2.2).

The list is read in chunks that overlap, so that a reference cut by one chunk's end is whole in the
next; what both give is given once. That every string occurs in the article is the caller's check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import dspy

from programs import prompts
from programs.chat_format import PlainAdapter
from programs.lm import LMSpec, make_lm
from programs.preflight import REFERENCE, try_out
from programs.prompts import Prompt
from programs.reply import FAILURE, last_usage
from programs.systems import load_recipe
from programs.trouble import explain
from reno_dspy.base.errors import JobError
from reno_dspy.build.references.find import reference_section
from reno_dspy.jats.text import folded
from reno_dspy.jats.thoughts import without_thoughts

# Characters of a piece that the LM is shown at once, and of it what the next piece repeats.
CHUNK_CHARS, CHUNK_OVERLAP = 3500, 700
SHORTEST_CHUNK = 450

_BULLET = re.compile(r"^[-*•]\s+(?=\S)")
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)


class Extract(dspy.Signature):  # type: ignore[misc]
    """List the references in a text; a `Prompt` replaces these instructions."""

    chunk: str = dspy.InputField()
    references: str = dspy.OutputField()


class ExtractReferences(dspy.Module):  # type: ignore[misc]
    """One call of the LM: `chunk` (markdown) in, `references` (a list of strings) out."""

    def __init__(self, prompt: Prompt) -> None:
        super().__init__()
        self.extract = dspy.Predict(Extract.with_instructions(prompt.instructions))

    def forward(self, chunk: str) -> dspy.Prediction:
        """Extract with the LM and adapter of the DSPy context; `failure` as in `AnnotateReference`."""
        answer = self.extract(chunk=chunk)
        failure = {FAILURE: answer.get(FAILURE)}
        return dspy.Prediction(references=read_lines(answer.references), **failure)


class LMExtractor:
    """An extractor for `reno build`: an article's markdown in, its references out, in order."""

    def __init__(
        self,
        spec: LMSpec,
        prompt: Prompt,
        max_chars: int = CHUNK_CHARS,
        overlap: int = CHUNK_OVERLAP,
    ) -> None:
        self.max_chars = max_chars
        self.overlap = overlap
        self.identity = {"lm": spec.identity(), "prompt": prompt.digest}
        self._lm = make_lm(spec)
        self._program = ExtractReferences(prompt)

    def __call__(self, markdown: str) -> list[str]:
        """The article's references. Raises JobError when the LM cannot be asked."""
        section = reference_section(markdown)
        return merge([self._read(piece) for piece in chunks(section, self.max_chars, self.overlap)])

    def start(self) -> None:
        """Make a trial request. Raises JobError or InputError when it fails, as others would."""
        try_out(self._lm, lambda: self._program(chunk=f"References\n{REFERENCE}"))

    def _read(self, chunk: str) -> list[str]:
        lm = self._lm.copy()  # with a history of its own: threads share this extractor
        try:
            with dspy.context(lm=lm, adapter=PlainAdapter(may_be_empty=True)):
                found: list[str] = self._program(chunk=chunk).references
        except dspy.LMError as error:
            raise JobError(f"Extracting references: {explain(error, lm)}.") from error
        if last_usage(lm)["finish_reason"] != "length":
            return found
        # The answer was cut off: ask about halves, as long as there are lines to part.
        halves = chunks(chunk, len(chunk) // 2, min(self.overlap, len(chunk) // 4))
        # An LM that is cut off on a handful of references does not stop by itself.
        if len(chunk) < SHORTEST_CHUNK or max(map(len, halves)) >= len(chunk):
            return found[:-1]
        return merge([self._read(half) for half in halves])


def load_extractor(name: str) -> LMExtractor:
    """The extractor on the LM of a system recipe (a file, or a name that ships).

    Its longest answer is the recipe's, or 2,048 tokens where the recipe names none.
    """
    recipe = load_recipe(name)
    spec = recipe.lm
    # A chunk holds many references; the limit of an annotation recipe is for one.
    longest = spec.max_tokens if "max_tokens" in spec.model_fields_set else 2048
    return LMExtractor(spec.changed(max_tokens=longest), prompts.load(recipe.extract_prompt))


def chunks(text: str, max_chars: int, overlap: int) -> list[str]:
    """Cut text at line ends into pieces of at most `max_chars`; a longer line is cut at a space.

    Each piece but the first begins with the last lines of the one before, at most `overlap`
    characters of them and only where the next line still fits.
    """
    pieces: list[list[str]] = []
    current: list[str] = []
    fresh = 0  # lines of `current` that no earlier piece holds
    for line in _lines(text, max_chars):
        if fresh and sum(map(len, current)) + len(line) > max_chars:
            pieces.append(current)
            current, fresh = _tail(current, min(overlap, max_chars - len(line))), 0
        current.append(line)
        fresh += 1
    if fresh and "".join(current).strip():
        pieces.append(current)
    return ["".join(piece) for piece in pieces]


def _lines(text: str, longest: int) -> Iterator[str]:
    """The lines of `text` with their ends, those over `longest` in parts."""
    for line in text.splitlines(keepends=True):
        while len(line) > longest:
            cut = line.rfind(" ", 1, longest) + 1 or longest
            yield line[:cut]
            line = line[cut:]
        yield line


def read_lines(answer: str) -> list[str]:
    """The references in an answer: its lines, without thoughts, code fences and list bullets."""
    text = _FENCE.sub("", without_thoughts(answer)[0])
    lines = (_BULLET.sub("", line.strip()) for line in text.splitlines())
    return [line for line in lines if line]


def merge(found: Sequence[Sequence[str]]) -> list[str]:
    """The references of overlapping pieces, in order, once each.

    Where a piece's end cut a reference, the neighbour that has the whole of it wins.
    """
    merged: list[str] = []
    for piece in found:
        border = len(merged)
        for reference in piece:
            place = _same(merged, reference, border)
            if place is None:
                merged.append(reference)
            elif len(reference) > len(merged[place]):
                merged[place] = reference
    return merged


def _same(merged: Sequence[str], reference: str, border: int) -> int | None:
    """Where `reference`, or the part or whole of it, stands among earlier pieces' references."""
    wanted = folded(reference)
    for place in range(len(merged) - 1, -1, -1):
        known = folded(merged[place])
        if known == wanted or (place < border and (known in wanted or wanted in known)):
            return place
    return None


def _tail(lines: Sequence[str], overlap: int) -> list[str]:
    kept: list[str] = []
    for line in reversed(lines):
        if sum(map(len, kept)) + len(line) > overlap:
            break
        kept.insert(0, line)
    return kept
