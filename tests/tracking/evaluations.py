"""Real evaluations of scripted systems on a small made-up data set, for the tests of this folder."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from reno_dspy.base.tracker import Tracker
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.measure.fields import Fields
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.measure.result import Report
from reno_dspy.systems import Completion

TITLE = "Tides of a paper sea"


def made_up_rows(count: int) -> tuple[Row, ...]:
    """References to works that do not exist, five to a citing article, from two platforms."""
    return tuple(_row(number) for number in range(count))


def _row(number: int) -> Row:
    year, volume = 1980 + number % 40, str(number % 30 + 1)
    xml = (
        f"<mixed-citation><string-name><surname>Name{number}</surname> <given-names>A</given-names>"
        f"</string-name> <article-title>{TITLE} {number}</article-title>. <source>Journal of "
        f"Examples</source> <year>{year}</year>;<volume>{volume}</volume>(<issue>2</issue>)."
        "</mixed-citation>"
    )
    text = f"Name{number} A {TITLE} {number}. Journal of Examples {year};{volume}(2)."
    return Row(
        id=str(number),
        plaintext=text,
        xml=xml,
        source="ore" if number % 2 else "scielo",
        citing_article_doi=None,
        citing_article_id=f"article-{number // 5}",
        language="en" if number % 3 else "pt",
        publication_type="journal",
        has_pid=number % 4 == 0,
    )


class Scripted:
    """A system that answers with the gold, wrong or malformed in a known share of the rows."""

    batch_size = 4
    concurrency = 2

    def __init__(
        self, name: str, rows: Sequence[Row], wrong: float, malformed: float, prompt: str = ""
    ) -> None:
        self.name = name
        self._prompt = prompt
        self._gold = {row.plaintext: row.xml for row in rows}
        self._random = random.Random(name)
        self._wrong, self._malformed = wrong, malformed

    def identity(self) -> Mapping[str, str]:
        """As a system with a prompt has it."""
        return {"system": self.name, "prompt_digest": f"{self.name}-prompt", "temperature": "0.0"}

    def prompt_text(self) -> str:
        """What a language model would be told."""
        return self._prompt

    async def start(self) -> None:
        """There is nothing to load."""

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """The gold, more or less."""
        return [
            Completion(self._answer(self._gold[text]), completion_tokens=9) for text in references
        ]

    def _answer(self, xml: str) -> str:
        if self._random.random() < self._wrong:
            xml = xml.replace("<surname>Name", "<surname>Nome").replace(TITLE, "Something else")
        return xml + "</ref>" if self._random.random() < self._malformed else xml


def evaluate_scripted(
    out: Path,
    tracker: Tracker,
    name: str,
    *,
    rows: Sequence[Row] = made_up_rows(40),
    wrong: float = 0.2,
    malformed: float = 0.1,
    data: str = "made-up",
    fields: Fields = "scored",
    prompt: str = "Annotate the reference.\n",
) -> Report:
    """Run the real evaluation job with a scripted system into `out`."""
    dataset = Dataset(tuple(rows), name=data, path=f"data/{data}", split="test")
    config = EvaluateConfig(system=name, data=f"data/{data}", out=out, fields=fields)
    return evaluate(config, Scripted(name, rows, wrong, malformed, prompt), dataset, tracker)
