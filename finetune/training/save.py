"""A trained adapter's last step: 16-bit weights, manifest, prompt and model card, written whole."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from finetune.base import EMBEDDED, Base
from finetune.manifest import PEFT_CONFIG, PROMPT, WEIGHTS, Manifest, write_manifest
from finetune.training.callbacks import BEST, best_of
from finetune.training.job import Job
from finetune.training.rows import RowsReport
from programs import prompts
from programs.prompts import Prompt
from reno_dspy.base.files import replacing_folder, sha256_file, write_json, write_text
from reno_dspy.base.show import markdown_table, shown
from reno_dspy.data.dataset import Dataset
from reno_dspy.jats.elements import SCORED

ADAPTER = "adapter"
_PACKAGES = ("torch", "transformers", "trl", "peft")


def save_adapter(
    job: Job,
    model: Any,
    report: RowsReport,
    *,
    prompt: Prompt | None = None,
    labels: Sequence[str] = (),
) -> None:
    """Write the job's adapter, whole or not at all.

    It has the best weights on dev or, where nothing was measured, those of `model` (PEFT). A tagger has
    `labels`, a language model a `prompt`.
    """
    config, base, data, run_dir = job.config, job.base, job.data, job.run_dir
    best = best_of(run_dir)
    with replacing_folder(run_dir / ADAPTER) as folder:
        if best:
            shutil.copytree(run_dir / BEST, folder, dirs_exist_ok=True)
        else:
            model.save_pretrained(folder)
        _halve(folder / WEIGHTS)
        _name_base(folder / PEFT_CONFIG, base)
        if prompt:
            prompts.save(prompt, folder / PROMPT)
        manifest = Manifest(
            base=base.name,
            base_revision=base.revision,
            rank=config.lora.rank,
            digest=sha256_file(folder / WEIGHTS),
            data=[data_of(data.train), *([data_of(data.dev)] if data.dev.rows else [])],
            prompt=prompt.name if prompt else None,
            prompt_digest=prompt.digest if prompt else None,
            # A path of this machine means nothing elsewhere.
            recipe=config.identity() | {"data": data.train.name},
            results={"rows": report.as_dict(), "dev": best},
            versions={name: version(name) for name in _PACKAGES},
            labels=tuple(labels),
        )
        write_manifest(folder, manifest)
        write_text(folder / "README.md", card(manifest))


def card(manifest: Manifest) -> str:
    """The model card of an adapter, in Markdown."""
    name = "HuggingFaceTB/SmolLM2-135M-Instruct" if manifest.base == EMBEDDED else manifest.base
    train = manifest.data[0]
    options = manifest.recipe["optimizer"]
    lines = [
        "---", "library_name: peft", f"base_model: {name}", "tags: [jats, references, lora]", "---",
        f"# JATS annotation adapter for {manifest.base}",
        "",
        "It turns a plain-text reference into JATS XML (`mixed-citation`), in place: the text of the "
        "annotation is the reference. Trained by `reno finetune` on gold fields projected onto the "
        "plain text.",
        "",
        f"- Base: {name} (revision `{manifest.base_revision[:12]}`)",
        f"- Weights: LoRA rank {manifest.rank}, 16 bit, SHA-256 `{manifest.digest[:12]}...`",
        f"- Data: {train['name']}, {train['rows']} rows (digest `{train['digest']}`), of which "
        f"{manifest.results['rows']['used']} could be trained on",
        "- Licences of these rows: "
        + "; ".join(f"{name} ({n})" for name, n in train["licences"].items()),
        _asked(manifest),
        f"- Learning rate {options['learning_rate']}, {options['batch_size']} x "
        f"{options['accumulation']} rows a step",
        "",
        *_figures(manifest),
        "## Limits",
        "",
        "It has seen references of the kind in its training data; on other languages, kinds of works "
        "and styles, measure it first."
        + ("" if manifest.labels else " Long references may be cut by the server's longest answer."),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def _asked(manifest: Manifest) -> str:
    if manifest.labels:
        return f"- A tagger with {len(manifest.labels)} labels (in `manifest.json`)"
    return f"- Prompt: {manifest.prompt} (digest `{manifest.prompt_digest}`, in `{PROMPT}`)"


def _figures(manifest: Manifest) -> list[str]:
    best = manifest.results["dev"]
    if not best:
        return ["It was not measured while it trained.", ""]
    rows = manifest.data[-1]["rows"]
    return [
        f"## On {rows} references of the development set (step {best['step']})",
        "",
        markdown_table(
            ["", "lenient recall, %"],
            [
                *((name, shown(best[f"recall/{name}"])) for name in SCORED),
                ("all fields", shown(best["recall"])),
            ],
        ),
        f"Valid XML {shown(best['valid_xml'])}%, text fidelity {shown(best['fidelity'])}%"
        + (
            f", answers that ended by themselves {shown(best['ended'])}%. "
            if "ended" in best
            else ". "
        )
        + "This sample also chose the checkpoint: measure on `test` for figures to report.",
        "",
    ]


def data_of(data: Dataset) -> dict[str, Any]:
    """A data set in a manifest: name, split, rows, digest, licences."""
    licences = Counter(row.licence or "unknown" for row in data.rows)
    return {
        "name": data.name, "split": data.split, "rows": len(data.rows), "digest": data.digest,
        "licences": dict(licences.most_common()),
    }  # fmt: skip


def _halve(weights: Path) -> None:
    """float16 keeps three more bits of a LoRA's small numbers than bfloat16."""
    tensors = {name: tensor.to(torch.float16) for name, tensor in load_file(weights).items()}
    save_file(tensors, weights, metadata={"format": "pt"})


def _name_base(config: Path, base: Base) -> None:
    # PEFT notes the path on this machine, which means nothing elsewhere.
    values = json.loads(config.read_text(encoding="utf-8"))
    write_json(config, values | {"base_model_name_or_path": base.name})
