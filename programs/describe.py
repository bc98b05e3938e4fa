"""What the build wants to know of a reference, by an LM: its title's language, whether it has a PID."""

from __future__ import annotations

import re

import dspy

from programs.chat_format import PlainAdapter
from programs.lm import LMSpec, make_lm
from programs.preflight import REFERENCE, TITLE, try_out
from programs.systems import load_recipe
from programs.trouble import explain
from reno_dspy.base.errors import JobError
from reno_dspy.jats.thoughts import without_thoughts

UNKNOWN = "und"  # ISO 639-2, undetermined

_CODE = re.compile(r"(?<![\w-])[a-z]{2}(?![\w-])")


class TitleLanguage(dspy.Signature):  # type: ignore[misc]
    """Name the language of a title.

    The user sends the title of a publication. Answer with the two letters of its ISO 639-1 code in
    lower case (en, pt, es, fr, de, ...) and nothing else; with und when it cannot be told.
    """

    title: str = dspy.InputField()
    language: str = dspy.OutputField()


class HasPid(dspy.Signature):  # type: ignore[misc]
    """Say whether a reference gives a persistent identifier.

    The user sends a bibliographic reference. Answer yes when it holds a persistent identifier (DOI,
    PMID, PMCID, arXiv, Handle, URN or ARK), else no. An ISBN, an ISSN or a plain web address is none.
    Answer with that one word.
    """

    reference: str = dspy.InputField()
    has_pid: str = dspy.OutputField()


class DescribeReference(dspy.Module):  # type: ignore[misc]
    """Two calls of the LM: `title` and `reference` in, `language` (code) and `has_pid` (bool) out."""

    def __init__(self) -> None:
        super().__init__()
        self.language = dspy.Predict(TitleLanguage)
        self.pid = dspy.Predict(HasPid)

    def forward(self, title: str, reference: str) -> dspy.Prediction:
        """Describe with the LM and adapter of the DSPy context."""
        return dspy.Prediction(
            language=read_language(self.language(title=title).language),
            has_pid=read_yes(self.pid(reference=reference).has_pid),
        )


class LMDescriber:
    """A describer for `reno build`: (title, reference) in, (ISO 639-1 code, has a PID) out."""

    def __init__(self, spec: LMSpec) -> None:
        self.spec = spec
        self.identity = {"lm": spec.identity()}
        self._lm = make_lm(spec)
        self._program = DescribeReference()

    def __call__(self, title: str, reference: str) -> tuple[str, bool]:
        """Language of the title and PID of the reference. Raises JobError when the LM fails."""
        lm = self._lm.copy()  # with a history of its own: threads share this describer
        try:
            with dspy.context(lm=lm, adapter=PlainAdapter()):
                found = self._program(title=title, reference=reference)
        except dspy.LMError as error:
            raise JobError(f"Describing references: {explain(error, lm)}.") from error
        return found.language, found.has_pid

    def start(self) -> None:
        """Make a trial request. Raises JobError or InputError when it fails, as others would."""
        try_out(self._lm, lambda: self._program(title=TITLE, reference=REFERENCE))


def load_describer(name: str) -> LMDescriber:
    """The describer on the LM of a system recipe (a file, or a name that ships)."""
    return LMDescriber(load_recipe(name).lm)


def read_language(answer: str) -> str:
    """The two-letter code in an answer, or `und`.

    An answer may be the code alone, begin with it, or lead up to it in a sentence ("The language is
    Portuguese (pt)."). Words such as "is" and "it" are codes as well, so the last one counts then.
    """
    text = without_thoughts(answer)[0].strip()
    alone = re.fullmatch(r"\W*([A-Za-z]{2})\W*", text) or re.match(r"\W*([a-z]{2})(?![\w-])", text)
    codes = _CODE.findall(text)
    return alone.group(1).lower() if alone else codes[-1] if codes else UNKNOWN


def read_yes(answer: str) -> bool:
    """Whether an answer is a yes."""
    return re.match(r"\W*(yes|true)\b", without_thoughts(answer)[0], re.IGNORECASE) is not None
