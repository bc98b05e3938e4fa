"""Measure a system in memory: no run directory, nothing to resume, only a report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from reno_dspy.data.dataset import Row
from reno_dspy.measure.report import make_report
from reno_dspy.measure.result import Report
from reno_dspy.systems import Completion, System


def measure(system: System, rows: Sequence[Row]) -> Report:
    """How `system` does on `rows` (profile `paper`); what it cannot annotate counts as empty.

    Raises InputError or JobError when it does not start.
    """
    completions = asyncio.run(answers(system, [row.plaintext or "" for row in rows]))
    return report_on(system, rows, completions)


def report_on(system: System, rows: Sequence[Row], completions: Sequence[Completion]) -> Report:
    """The report on `completions`, the answers of `system` to `rows`."""
    records = [
        {
            "xml": row.xml,
            "plaintext": row.plaintext,
            "prediction": completion.text,
            "error": completion.error,
            "citing_article": row.cluster,
            "source": row.source,
        }
        for row, completion in zip(rows, completions, strict=True)
    ]
    return make_report(records, system=system.name, identity=dict(system.identity()))


async def answers(system: System, texts: Sequence[str]) -> list[Completion]:
    """The answers of `system` to `texts`. Raises InputError or JobError when it does not start."""
    await system.start()
    size = system.batch_size
    batches = [texts[i : i + size] for i in range(0, len(texts), size)]
    return [answer for batch in batches for answer in await system.annotate(batch)]
