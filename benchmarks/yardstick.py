"""What users need, on verified gold: every field, whole references, people, by language and kind.

    python benchmarks/yardstick.py --system tagger --system crf --out yardstick.md

A system is a name of `--system` (a recipe, FILE.crfsuite, ...); NAME=DIR names its adapter as well. The
gold is read by `CONVENTIONS.md` and lies outside of the repository; nothing is ever trained on it.

A value is right when it equals a gold value of its field, one to one; *folded* ignores punctuation and
white space at its edges. A reference is right when the seven fields of the paper are the gold's, no
more and no less; a person, when surname, given names and role stand together in one name. `accept` of
a case names other readings; the one nearest to the answer counts.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from reno_dspy.data.dataset import load
from reno_dspy.jats.citation import Element, MalformedXml, name_of, parse, text_of
from reno_dspy.jats.elements import LEAVES, PAPER_COLUMNS, SYNONYMS, WHOLE_PEOPLE, publication_type
from reno_dspy.measure.stats import ratio_interval
from reno_dspy.systems import System
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.registry import open_system

SETS = ("data/verified.jsonl", "cases/hard_cases.jsonl", "cases/hard_cases_2.jsonl")
MEASURES = {
    "exact": "F1",
    "folded": "F1 folded",
    "whole": "Whole right",
    "whole_folded": "Whole folded",
    "people": "People F1",
    "all": "All fields F1",
    "type": "Type",
}
# Of the measures, those shown for every language and source.
_OF_PARTS = ("exact", "whole")
TYPE = "publication-type"
# Values of one reading, by field; under "people" one text a person.
Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Case:
    """One reference of the yardstick: its set, what slices it belongs to, and its right readings."""

    set: str
    text: str
    slices: Mapping[str, str]
    readings: tuple[Values, ...]
    cluster: str | None


@dataclass(frozen=True)
class Scored:
    """Numerator and denominator of each measure for one answer."""

    counts: Mapping[str, tuple[float, float]]


def main_cases(shared: Path) -> list[Case]:
    """The references of all sets under `shared`."""
    cases = []
    for name in SETS:
        path = shared / name
        for line in path.read_text(encoding="utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            slices = {
                "language": row.get("language") or "",
                "source": row.get("source") or "",
                "kind": row.get("kind") or "",
            }
            gold = values_of(row["xml"])
            readings = (gold, *({**gold, **other} for other in row.get("accept", ())))
            cluster = row.get("citing_article") or row["id"]
            cases.append(Case(path.stem, row["plaintext"], slices, readings, cluster))
    return cases


def other_cases(data: str) -> list[Case]:
    """The references of a data set or file, perhaps with `:SPLIT` at its end, by its own gold."""
    path, _, split = data.rpartition(":")
    rows = load(path or data, split if path else None, with_text=True).rows
    return [
        Case(
            data,
            row.plaintext or "",
            {"language": row.language or "", "source": row.source, "kind": ""},
            (values_of(row.xml),),
            row.cluster,
        )
        for row in rows
    ]


def values_of(xml: str) -> dict[str, list[str]]:
    """Every value of an annotation by field, its type, and its people; {} for malformed XML."""
    try:
        root = parse(xml)
    except MalformedXml:
        return {}
    found: dict[str, list[str]] = {TYPE: [publication_type(root) or "other"], "people": []}
    for element in root.iterdescendants():
        name = SYNONYMS.get(name_of(element), name_of(element))
        if name in LEAVES - WHOLE_PEOPLE and (value := text_of(element)):
            found.setdefault(name, []).append(value)
        if name in ("string-name", "name"):
            found["people"].append(_person(element))
    return found


def _person(element: Element) -> str:
    """Role, surname and given names of one `string-name`."""
    parts = {name: [text_of(e) for e in element.iter(f"{{*}}{name}")] for name in _PARTS}
    groups = (a for a in element.iterancestors() if name_of(a) == "person-group")
    role = next((group.get("person-group-type") for group in groups), None) or "author"
    return " | ".join([role, *(" ".join(parts[name]) for name in _PARTS)])


_PARTS = ("surname", "given-names")


def score(case: Case, answer: str) -> Scored:
    """The answer against the reading of the case that it is nearest to."""
    found = values_of(answer)
    scores = [_counts(gold, found) for gold in case.readings]
    return Scored(max(scores, key=_nearness))


def _nearness(counts: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    matched, total = counts["folded"]
    return counts["whole_folded"][0], matched / max(total, 1.0)


def _counts(gold: Values, found: Values) -> dict[str, tuple[float, float]]:
    seven = tuple(PAPER_COLUMNS)
    every = sorted((gold.keys() | found.keys()) - {"people"})
    return {
        "exact": _f1(gold, found, seven),
        "folded": _f1(_folded(gold), _folded(found), seven),
        "whole": (float(_same(gold, found, seven)), 1.0),
        "whole_folded": (float(_same(_folded(gold), _folded(found), seven)), 1.0),
        "people": _f1(gold, found, ("people",)),
        "all": _f1(gold, found, every),
        "type": (float(gold[TYPE] == found.get(TYPE)), 1.0),
    }


def _f1(gold: Values, found: Values, fields: Iterable[str]) -> tuple[float, float]:
    """F1 as a ratio: twice the matched values, and the gold and found ones together."""
    matched, total = 0, 0
    for name in fields:
        one, other = Counter(gold.get(name, ())), Counter(found.get(name, ()))
        matched += (one & other).total()
        total += one.total() + other.total()
    return 2.0 * matched, float(total)


def _same(gold: Values, found: Values, fields: Iterable[str]) -> bool:
    return all(Counter(gold.get(n, ())) == Counter(found.get(n, ())) for n in fields)


def _folded(values: Values) -> dict[str, list[str]]:
    return {n: [re.sub(r"\A[\W_]+|[\W_]+\Z", "", v) for v in vs] for n, vs in values.items()}


async def answers(system: System, texts: Sequence[str]) -> list[str]:
    """The system's answers, in order; "" where it failed."""
    await system.start()
    size = system.batch_size
    batches = [texts[i : i + size] for i in range(0, len(texts), size)]
    return [one.text for batch in batches for one in await system.annotate(batch)]


def table(
    title: str,
    systems: Mapping[str, Sequence[Scored]],
    cases: Sequence[Case],
    chosen: Sequence[int],
) -> Iterator[str]:
    """A Markdown table of the measures over the cases `chosen`, a line a system."""
    yield f"**{title}** (n = {len(chosen)})\n"
    yield f"| System | {' | '.join(MEASURES.values())} |"
    yield f"|---|{'---:|' * len(MEASURES)}"
    clusters = [cases[i].cluster for i in chosen]
    for name, scored in systems.items():
        cells = []
        for measure in MEASURES:
            counts = np.array([scored[i].counts[measure] for i in chosen])
            cells.append(_cell(counts[:, 0], counts[:, 1], clusters))
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def parts(
    systems: Mapping[str, Sequence[Scored]],
    cases: Sequence[Case],
    of_set: Sequence[int],
    by: str,
) -> Iterator[str]:
    """Exact F1 and whole references right of each part of a set, a line a part; none for one part."""
    counts = Counter(cases[i].slices[by] for i in of_set)
    names = [part for part, count in counts.most_common() if part and count > 1]
    if len(names) < 2:
        return
    yield f"By {by}\n"
    heads = [f"{name}: {MEASURES[m]}" for name in systems for m in _OF_PARTS]
    yield f"| {by} | n | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (len(heads) + 1)}"
    for part in names:
        chosen = [i for i in of_set if cases[i].slices[by] == part]
        clusters = [cases[i].cluster for i in chosen]
        cells = []
        for scored in systems.values():
            for measure in _OF_PARTS:
                found = np.array([scored[i].counts[measure] for i in chosen])
                cells.append(_cell(found[:, 0], found[:, 1], clusters))
        yield f"| {part} | {len(chosen)} | {' | '.join(cells)} |"
    yield ""


def _cell(numerator: Any, denominator: Any, clusters: Sequence[str | None]) -> str:
    if not denominator.sum():
        return "–"
    value = f"{100 * numerator.sum() / denominator.sum():.1f}"
    ends = ratio_interval(numerator, denominator, clusters)
    return f"{value} ({100 * ends.low:.0f}–{100 * ends.high:.0f})" if ends else value


def kinds(
    systems: Mapping[str, Sequence[Scored]], cases: Sequence[Case], name: str
) -> Iterator[str]:
    """Which cases of a set each system has right: exactly (++), but for punctuation (+), or not."""
    chosen = [i for i, case in enumerate(cases) if case.set == name]
    yield f"**{name} by kind**: wholly right (++), but for edge punctuation (+), F1 of the others\n"
    yield f"| Kind | {' | '.join(systems)} |"
    yield f"|---|{'---:|' * len(systems)}"
    for i in sorted(chosen, key=lambda i: cases[i].slices["kind"]):
        cells = [_mark(scored[i]) for scored in systems.values()]
        yield f"| {cases[i].slices['kind']} | {' | '.join(cells)} |"
    yield ""


def _mark(scored: Scored) -> str:
    if scored.counts["whole"][0]:
        return "++"
    matched, total = scored.counts["exact"]
    return "+" if scored.counts["whole_folded"][0] else f"{100 * matched / max(total, 1):.0f}"


def report(systems: Mapping[str, Sequence[Scored]], cases: Sequence[Case]) -> str:
    """All tables as Markdown."""
    lines = ["Percent, with 95% bootstrap intervals over citing articles.\n"]
    for name in dict.fromkeys(case.set for case in cases):
        of_set = [i for i, case in enumerate(cases) if case.set == name]
        lines += table(name, systems, cases, of_set)
        for by in ("language", "source"):
            lines += parts(systems, cases, of_set, by)
        if any(cases[i].slices["kind"] for i in of_set):
            lines += kinds(systems, cases, name)
    return "\n".join(lines)


@click.command()
@click.option("--system", "names", multiple=True, required=True, help="NAME, or NAME=ADAPTER.")
@click.option("--shared", type=Path, default=Path("../shared"), show_default=True)
@click.option(
    "--data", multiple=True, metavar="DATA[:SPLIT]", help="Other references, by their gold."
)
@click.option("--out", type=Path, help="Write the tables to this Markdown file.")
def main(names: Sequence[str], shared: Path, data: Sequence[str], out: Path | None) -> None:
    """Run systems over the verified references and the hard cases, or over --data."""
    cases = [case for one in data for case in other_cases(one)] or main_cases(shared)
    systems: dict[str, list[Scored]] = {}
    for spec in names:
        name, _, adapter = spec.partition("=")
        options = SystemOptions(system=name, adapter=Path(adapter) if adapter else None)
        with open_system(options, Path(tempfile.mkdtemp()) / "server.log") as system:
            texts = asyncio.run(answers(system, [case.text for case in cases]))
        systems[spec] = [score(case, text) for case, text in zip(cases, texts, strict=True)]
    text = report(systems, cases)
    click.echo(text)
    if out is not None:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
