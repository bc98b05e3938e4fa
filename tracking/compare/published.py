"""The paper's tables 1-4 as data (RenoBench, sections 3 and appendix A); in percent.

They were measured on the published benchmark (10,000 references), so beside our own runs they are rows of
another data set, never a comparison on the same data. `import_published` writes them as MLflow
runs tagged `published`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reno_dspy.jats.elements import PAPER_COLUMNS
from reno_dspy.measure.measures import MEASURES
from reno_dspy.measure.result import Estimate, FieldReport, Report
from tracking.store import experiment_id

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

DATA = "RenoBench (published, 10,000 references)"
PUBLISHED_N = 10_000
# Counts that a report always has, but the paper does not give.
_NOT_PUBLISHED = {"errors", "truncated"}


# One line a model, in the paper's order; columns as in PAPER_COLUMNS.
# fmt: off
_MODELS = (
    ("GROBID", 100.0),
    ("Qwen/Qwen2.5-3B-Instruct", 83.5),
    ("Qwen/Qwen2.5-7B-Instruct", 87.6),
    ("Qwen/Qwen3-0.6B", 81.4),
    ("Qwen/Qwen3-0.6B + cometadata/citation-parsing-lora", 95.0),
    ("Qwen/Qwen3-8B", 78.2),
    ("Qwen/Qwen3-32B", 78.4),
    ("google/gemma-3-1b-it", 27.7),
    ("meta-llama/Llama-3.1-8B-Instruct", 80.3),
    ("mistralai/Mistral-7B-Instruct-v0.2", 86.0),
    ("openai/gpt-oss-20b", 88.3),
)

# Table 1
_RECALL_LENIENT = (
    (71.6, 18.8, 65.2, 51.8, 90.0, 86.8, 97.9),  # GROBID
    (93.0, 64.1, 93.9, 54.3, 95.5, 83.8, 93.8),  # Qwen/Qwen2.5-3B-Instruct
    (95.8, 74.5, 94.0, 53.3, 96.0, 86.9, 90.6),  # Qwen/Qwen2.5-7B-Instruct
    (87.3, 62.7, 84.7, 50.6, 92.4, 92.7, 91.7),  # Qwen/Qwen3-0.6B
    (92.6, 77.9, 93.4, 73.3, 98.6, 95.3, 97.2),  # Qwen/Qwen3-0.6B + cometadata/citation-parsing-lora
    (86.6, 70.9, 82.0, 51.2, 90.6, 89.8, 80.7),  # Qwen/Qwen3-8B
    (86.8, 69.2, 84.7, 55.6, 92.3, 90.5, 86.2),  # Qwen/Qwen3-32B
    (84.9, 52.5, 44.5, 37.4, 70.9, 64.0, 69.8),  # google/gemma-3-1b-it
    (82.4, 58.6, 92.7, 57.3, 98.1, 96.0, 94.5),  # meta-llama/Llama-3.1-8B-Instruct
    (85.4, 69.0, 91.9, 52.8, 95.8, 94.3, 91.6),  # mistralai/Mistral-7B-Instruct-v0.2
    (89.1, 67.0, 93.1, 57.4, 98.1, 96.5, 96.7),  # openai/gpt-oss-20b
)

# Table 2
_PRECISION_LENIENT = (
    (70.2, 18.7, 58.4, 48.0, 69.8, 49.1, 96.9),  # GROBID
    (86.5, 62.5, 56.0, 53.4, 86.7, 88.0, 97.7),  # Qwen/Qwen2.5-3B-Instruct
    (89.0, 72.3, 59.2, 53.0, 87.1, 78.3, 98.2),  # Qwen/Qwen2.5-7B-Instruct
    (79.5, 59.0, 51.1, 47.4, 42.9, 25.7, 95.1),  # Qwen/Qwen3-0.6B
    (83.6, 73.5, 55.7, 66.9, 43.5, 25.2, 96.4),  # Qwen/Qwen3-0.6B + cometadata/citation-parsing-lora
    (91.8, 76.1, 60.2, 59.1, 82.3, 74.5, 91.4),  # Qwen/Qwen3-8B
    (89.5, 71.8, 60.9, 59.7, 86.4, 78.2, 92.4),  # Qwen/Qwen3-32B
    (81.3, 49.8, 41.1, 48.2, 57.6, 34.1, 94.5),  # google/gemma-3-1b-it
    (79.2, 58.3, 60.7, 59.1, 85.4, 74.3, 98.4),  # meta-llama/Llama-3.1-8B-Instruct
    (85.2, 69.3, 61.0, 65.2, 88.7, 71.7, 97.8),  # mistralai/Mistral-7B-Instruct-v0.2
    (85.1, 65.8, 60.1, 57.7, 88.4, 84.8, 98.2),  # openai/gpt-oss-20b
)

# Table 3
_RECALL_STRICT = (
    (71.6, 18.8, 65.2, 51.8, 90.0, 86.8, 97.9),  # GROBID
    (79.0, 54.9, 81.6, 47.0, 84.1, 73.5, 79.2),  # Qwen/Qwen2.5-3B-Instruct
    (83.7, 65.2, 83.4, 47.1, 85.0, 76.7, 79.8),  # Qwen/Qwen2.5-7B-Instruct
    (72.5, 52.9, 72.7, 44.2, 80.8, 81.8, 75.8),  # Qwen/Qwen3-0.6B
    (88.5, 74.6, 89.3, 70.1, 94.3, 91.0, 92.8),  # Qwen/Qwen3-0.6B + cometadata/citation-parsing-lora
    (72.5, 60.3, 73.0, 45.6, 78.0, 77.6, 70.5),  # Qwen/Qwen3-8B
    (74.0, 59.5, 75.9, 50.0, 81.0, 78.0, 74.2),  # Qwen/Qwen3-32B
    (21.8, 13.5, 7.6, 6.1, 11.9, 11.0, 13.8),  # google/gemma-3-1b-it
    (65.7, 45.6, 69.6, 43.8, 73.7, 72.5, 76.0),  # meta-llama/Llama-3.1-8B-Instruct
    (74.6, 60.6, 80.9, 46.8, 85.3, 82.5, 79.4),  # mistralai/Mistral-7B-Instruct-v0.2
    (78.7, 59.1, 80.8, 49.2, 83.0, 82.1, 85.9),  # openai/gpt-oss-20b
)

# Table 4
_PRECISION_STRICT = (
    (70.2, 18.7, 58.4, 48.0, 69.8, 49.1, 96.9),  # GROBID
    (73.4, 53.5, 48.7, 46.2, 76.4, 77.1, 82.5),  # Qwen/Qwen2.5-3B-Instruct
    (77.8, 63.2, 52.5, 46.8, 77.1, 69.1, 86.5),  # Qwen/Qwen2.5-7B-Instruct
    (66.1, 49.8, 43.9, 41.4, 37.5, 22.6, 78.6),  # Qwen/Qwen3-0.6B
    (79.9, 70.4, 53.3, 64.1, 41.6, 24.0, 92.0),  # Qwen/Qwen3-0.6B + cometadata/citation-parsing-lora
    (76.8, 64.7, 53.6, 52.6, 70.8, 64.4, 79.8),  # Qwen/Qwen3-8B
    (76.3, 61.7, 54.6, 53.7, 75.8, 67.4, 79.6),  # Qwen/Qwen3-32B
    (20.8, 12.8, 7.0, 7.9, 9.6, 5.8, 18.6),  # google/gemma-3-1b-it
    (63.1, 45.4, 45.6, 45.2, 64.2, 56.2, 79.1),  # meta-llama/Llama-3.1-8B-Instruct
    (74.5, 60.9, 53.7, 57.7, 79.0, 62.7, 84.8),  # mistralai/Mistral-7B-Instruct-v0.2
    (75.1, 58.0, 52.2, 49.4, 74.8, 72.2, 87.2),  # openai/gpt-oss-20b
)
# fmt: on


_TABLES = (_RECALL_LENIENT, _PRECISION_LENIENT, _RECALL_STRICT, _PRECISION_STRICT)


def published_reports() -> tuple[Report, ...]:
    """The eleven rows of tables 1-4, in the paper's order; what the paper does not give is absent."""
    return tuple(_report(number, *model) for number, model in enumerate(_MODELS))


def _report(number: int, model: str, valid_xml: float) -> Report:
    in_paper = [measure.name for measure in MEASURES if measure.in_paper]
    rows = dict(zip(in_paper, (table[number] for table in _TABLES), strict=True))
    return Report(
        n=PUBLISHED_N,
        profile="paper",
        shares={"valid_xml": Estimate(valid_xml)},
        fields={
            field: FieldReport({}, {name: Estimate(row[column]) for name, row in rows.items()})
            for column, field in enumerate(PAPER_COLUMNS)
        },
        overall=FieldReport({}, {}),
        system=model,
        data=DATA,
        data_digest="published",
    )


def import_published(client: MlflowClient) -> list[str]:
    """The paper's rows as finished runs beside our evaluations, tagged `published`; their ids.

    A row that is there already is left as it is.
    """
    experiment = experiment_id(client, "evaluate")
    there = {
        run.data.tags["system"]: str(run.info.run_id)
        for run in client.search_runs([experiment], "tags.published = 'true'")
    }
    return [
        there.get(str(report.system)) or _import(client, experiment, report)
        for report in published_reports()
    ]


def _import(client: MlflowClient, experiment: str, report: Report) -> str:
    from mlflow.entities import Metric

    model = str(report.system)
    tags = {"published": "true", "job": "evaluate", "system": model, "data": DATA}
    tags |= {"profile": "paper", "mlflow.note.content": f"{model} in the paper's tables 1-4."}
    run = client.create_run(experiment, tags=tags, run_name=f"published: {model}")
    metrics = [
        Metric(name, float(value), run.info.start_time, 0)
        for name, value in report.to_metrics().items()
        if value is not None and name not in _NOT_PUBLISHED
    ]
    client.log_batch(run.info.run_id, metrics=metrics)
    client.set_terminated(run.info.run_id)
    return str(run.info.run_id)
