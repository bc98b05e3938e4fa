"""A trained encoder tagger's last step: ONNX file, tokenizer, manifest and model card."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from finetune.recipe import FinetuneConfig
from finetune.training.callbacks import best_of
from finetune.training.data import TrainingData
from finetune.training.export import Ranges, Sizes, export
from finetune.training.job import Job
from finetune.training.rows import RowsReport
from finetune.training.save import data_of
from reno_dspy.base.files import replacing_folder, sha256_file, write_json, write_text
from reno_dspy.base.show import markdown_table, shown
from reno_dspy.jats.elements import SCORED
from reno_dspy.systems.tagger.manifest import (
    MANIFEST,
    MODEL,
    TOKENIZER,
    TaggerManifest,
    load_tagger,
)

# The folder of a run that holds the model.
MODEL_FOLDER = "model"
_PACKAGES = ("torch", "transformers", "onnx", "onnxruntime", "tokenizers")
Figures = dict[str, float | None]


def save_tagger(
    job: Job,
    model: Any,
    ranges: Ranges,
    labels: Sequence[str],
    report: RowsReport,
    measure: Callable[[Path], Figures | None],
) -> None:
    """Write the job's model directory, whole or not at all.

    `ranges` are of the inputs of the linear layers (`finetune.training.ranges`); `measure` gives the
    figures of an ONNX file on dev.
    """
    config, base, data, run_dir = job.config, job.base, job.data, job.run_dir
    with replacing_folder(run_dir / MODEL_FOLDER) as folder:
        weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        shape = model.config
        sizes = Sizes(shape.num_hidden_layers, shape.num_attention_heads, shape.layer_norm_eps)
        export(weights, ranges, sizes, folder / MODEL)
        shutil.copyfile(run_dir / TOKENIZER, folder / TOKENIZER)
        manifest = TaggerManifest(
            name="tagger" if config.encoder and not config.encoder.layers else "tagger-small",
            base=base.name,
            base_revision=base.revision,
            digest=sha256_file(folder / MODEL),
            labels=tuple(labels),
            longest=config.max_length,
            data=[data_of(data.train), *([data_of(data.dev)] if data.dev.rows else [])],
            recipe=_recipe(config, data),
            results={
                "rows": report.as_dict(),
                "dev": best_of(run_dir),
                "dev_exported": measure(folder / MODEL),
            },
            versions={name: version(name) for name in _PACKAGES},
        )
        write_json(folder / MANIFEST, manifest.model_dump(mode="json"))
        write_text(folder / "README.md", card(manifest))


def _recipe(config: FinetuneConfig, data: TrainingData) -> dict[str, Any]:
    """The recipe with names where it has paths of this machine, which mean nothing elsewhere."""
    return config.identity() | {
        "data": data.train.name,
        "rehearsal": config.rehearsal and Path(config.rehearsal).name,
        "start_from": config.start_from and load_tagger(config.start_from).name(),
    }


def card(manifest: TaggerManifest) -> str:
    """The model card of a tagger, in Markdown."""
    train = manifest.data[0]
    licences = "; ".join(f"{name} ({n})" for name, n in train["licences"].items())
    fields = sorted({name[2:] for name in manifest.labels if name[1:2] == "-"})
    lines = [
        "---", "library_name: onnxruntime", f"base_model: intfloat/{manifest.base}",
        "license: apache-2.0", "tags: [jats, references, token-classification]", "---",
        "# JATS tagger for references",
        "",
        "It labels every word of a plain-text reference with the JATS element it belongs to, and the "
        "reference with a publication type. `reno annotate` writes the labels as tags around the words: "
        "the annotation is well-formed and its text is the reference.",
        "",
        f"- Base: {manifest.base} (revision `{manifest.base_revision[:12]}`), trained whole",
        *([f"- Went on from: {before}"] if (before := manifest.recipe.get("start_from")) else []),
        f"- Weights: ONNX, 8 bits, SHA-256 `{manifest.digest[:12]}...`",
        f"- Data: {train['name']}, {train['rows']} rows (digest `{train['digest']}`), of which "
        f"{manifest.results['rows']['used']} could be trained on",
        f"- Licences of these rows: {licences}",
        f"- Labels: {', '.join(f'`{name}`' for name in fields)}",
        "",
        *_figures(manifest),
    ]  # fmt: skip
    return "\n".join(lines)


def _figures(manifest: TaggerManifest) -> list[str]:
    best, exported = manifest.results["dev"], manifest.results["dev_exported"]
    if not best or not exported:
        return ["It was not measured while it trained.", ""]
    rows = manifest.data[-1]["rows"]
    return [
        f"## On {rows} references of the development set (step {best['step']})",
        "",
        "Lenient recall in %. This sample also chose the checkpoint: measure on `test` for figures to "
        "report.",
        "",
        markdown_table(
            ["", "float32, while training", "exported, 8 bits"],
            [
                (name, shown(best[key]), shown(exported[key]))
                for name, key in [*((n, f"recall/{n}") for n in SCORED), ("all fields", "recall")]
            ],
        ),
    ]
