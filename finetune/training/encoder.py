"""Train the tagger: an encoder labels the words of a reference.

    reno finetune tagger --data DATA --out DIR
    reno evaluate --system tagger --adapter DIR --data DATA --out OUT

All weights but the embeddings of pieces are trained. The best weights by field recall on dev are
exported to ONNX in 8 bits; that file is measured. A killed run resumes from its last checkpoint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoModelForTokenClassification, TrainingArguments, set_seed

from finetune.base import resolve_base
from finetune.recipe import EncoderOptions, FinetuneConfig
from finetune.training.callbacks import BEST, best_of
from finetune.training.data import TrainingData
from finetune.training.job import Job, opened, tracked
from finetune.training.loop import (
    CHECKPOINTS,
    FinetuneResult,
    conclude,
    nothing_to_train_on,
    run_trainer,
    trainer_options,
)
from finetune.training.measure import scored
from finetune.training.omissions import Omissions
from finetune.training.ranges import input_ranges
from finetune.training.rows import RowsReport, lessons_of
from finetune.training.save_tagger import MODEL_FOLDER, save_tagger
from finetune.training.start import Start, begin, encoder_config, go_on, open_trained
from finetune.training.tagger import Record, TaggerTrainer, collate
from finetune.training.targets import NOTHING, Targets
from reno_dspy.base.files import write_json, write_text
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.data.draw import draw
from reno_dspy.data.lessons import Lesson
from reno_dspy.systems.tagger.encoding import Pieces, encode
from reno_dspy.systems.tagger.labelling import Labeller, Network
from reno_dspy.systems.tagger.manifest import TOKENIZER, TaggerModel, load_tagger
from reno_dspy.systems.tagger.model import OnnxNetwork

# References whose values decide how activations are rounded.
_SAMPLE = 1_024


def train_encoder(
    config: FinetuneConfig, data: TrainingData, tracker: Tracker, *, fresh: bool = False
) -> FinetuneResult:
    """Train a tagger by `config` on `data` into `config.out`, or resume that.

    Raises InputError when the run directory holds another run, no row can be trained on, the base is no
    encoder, or there is no tagger to go on from.
    """
    base = resolve_base(config.base)
    options = _options(config)
    encoder_config(base, options)
    trained = open_trained(config.start_from, base) if config.start_from else None
    with opened(config, base, data, start=trained, fresh=fresh) as job:
        return _train_or_resume(job, trained, tracker)


@dataclass(frozen=True)
class _Examples:
    """What a tagger learns from: `records`, made of references by `pieces` and `targets`."""

    records: Sequence[Record]
    pieces: Pieces
    targets: Targets


def _train_or_resume(job: Job, trained: TaggerModel | None, tracker: Tracker) -> FinetuneResult:
    config, run_dir = job.config, job.run_dir
    lessons, report = lessons_of(job.data.train.rows, config)
    options = _options(config)
    start = go_on(trained, options) if trained else begin(job.base, lessons, options)
    targets = Targets(start.labels)
    write_text(run_dir / TOKENIZER, start.tokenizer)
    pieces = Pieces(run_dir / TOKENIZER)
    examples = _Examples(_records(lessons, targets, pieces, config, report), pieces, targets)
    if not examples.records:
        raise nothing_to_train_on(config, report)
    write_json(run_dir / "rows.json", report.as_dict())
    with tracked(job, tracker, " tagger") as run:
        if not (run_dir / MODEL_FOLDER).is_dir():
            _export(job, _train(job, start, examples, run), examples, report)
        losses = {r["step"]: r["train/loss"] for r in run_dir.log("train.jsonl").read()}
        model = load_tagger(run_dir / MODEL_FOLDER)
        result = FinetuneResult(model, losses, best_of(run_dir), report.as_dict())
        conclude(run, result)
    return result


def _options(config: FinetuneConfig) -> EncoderOptions:
    assert config.encoder
    return config.encoder


def _records(
    lessons: Sequence[Lesson],
    targets: Targets,
    pieces: Pieces,
    config: FinetuneConfig,
    report: RowsReport,
) -> list[Record]:
    """Inputs and targets. Nothing is cut; lessons over `max_length` pieces count as `too_long`."""
    fields = {name[2:] for name in targets.labels.words[1:]}
    omissions = Omissions(lessons, fields if _options(config).omissions else ())
    records = []
    for lesson in lessons:
        encoded = encode(lesson.plaintext, pieces, config.max_length)
        if len(encoded.windows) > 1:
            continue
        (window,) = encoded.windows
        right = [NOTHING] * len(window.ids)
        right[0] = targets.of_type(lesson.publication_type)
        of_words = targets.of_words(encoded.words, lesson.spans, omissions.of(lesson))
        for place, target in zip(window.places, of_words, strict=True):
            right[place] = target
        records.append({"input_ids": list(window.ids), "labels": right})
    report.leave_out_long(len(records))
    return records


def _train(job: Job, start: Start, examples: _Examples, run: Run) -> Any:
    """Train to the end; the model with its best weights on dev, or its last where dev is empty."""
    config, run_dir, dev = job.config, job.run_dir, job.data.dev.rows
    set_seed(config.seed)
    trainer = EncoderTrainer(
        start.model(),
        TrainingArguments(
            **trainer_options(config, run_dir / CHECKPOINTS), remove_unused_columns=False
        ),
        train_dataset=examples.records,
        data_collator=collate(examples.pieces.padding),
        targets=examples.targets,
        head_rate=_options(config).head_learning_rate,
    )

    def measure(model: Any) -> dict[str, float | None]:
        was_training = model.training
        network = TorchNetwork(model.eval())
        figures = _measured(network, examples, job)
        model.train(was_training)
        return figures

    run_trainer(trainer, job, len(examples.records), measure if dev else None, run)
    if best_of(run_dir):
        return AutoModelForTokenClassification.from_pretrained(run_dir / BEST).eval()
    return trainer.model.eval()


def _measured(network: Network, examples: _Examples, job: Job) -> dict[str, float | None]:
    """Field recall and the like of `network` on dev, in percent (`finetune.training.measure`)."""
    rows = job.data.dev.rows
    texts = [row.plaintext or "" for row in rows]
    labels, longest = examples.targets.labels, job.config.max_length
    found = Labeller(network, examples.pieces, labels, longest).annotate(texts)
    return scored(rows, [one.xml for one in found])


def _sample(examples: _Examples, seed: int) -> Iterator[dict[str, Tensor]]:
    """Some references as they are trained on, in batches of similar length."""
    drawn = draw(examples.records, _SAMPLE, seed)
    chosen = sorted(drawn, key=lambda record: len(record["input_ids"]))
    for first in range(0, len(chosen), 16):
        yield collate(examples.pieces.padding)(chosen[first : first + 16])


def _export(job: Job, model: Any, examples: _Examples, report: RowsReport) -> None:
    """Export the weights, measure the exported file on dev, and write the model directory."""

    def measure(file: Path) -> dict[str, float | None] | None:
        return _measured(OnnxNetwork(file), examples, job) if job.data.dev.rows else None

    ranges = input_ranges(model, _sample(examples, job.config.seed))
    save_tagger(job, model, ranges, examples.targets.labels.names, report, measure)


class EncoderTrainer(TaggerTrainer):
    """A TaggerTrainer of a BERT encoder; its head learns at `head_rate`."""

    def __init__(self, *args: Any, head_rate: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_rate = head_rate

    def score(self, model: Any, inputs: dict[str, Tensor], read: Tensor) -> Tensor:
        """Logits (positions that `read` marks, labels)."""
        present = inputs["attention_mask"].long()
        hidden = model.bert(inputs["input_ids"], attention_mask=present).last_hidden_state
        logits: Tensor = model.classifier(hidden[read])
        return logits

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW over the encoder and the head. Norms and biases do not decay."""
        groups: dict[tuple[float, float], list[Tensor]] = defaultdict(list)
        for name, weight in self.model.named_parameters():
            if weight.requires_grad:
                in_head = name.startswith("classifier.")
                rate = self._head_rate if in_head else self.args.learning_rate
                groups[rate, self.args.weight_decay if weight.ndim > 1 else 0.0].append(weight)
        self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(
            [
                {"params": weights, "lr": rate, "weight_decay": decay}
                for (rate, decay), weights in groups.items()
            ],
            fused=True,
        )
        return self.optimizer


class TorchNetwork:
    """A PyTorch encoder as a `labelling.Network`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._device = next(model.parameters()).device

    def __call__(
        self, ids: NDArray[np.int64], mask: NDArray[np.int32], read: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Logits (n, labels) at `read`."""
        present = torch.from_numpy(mask).to(self._device)
        with torch.inference_mode():
            hidden = self._model.bert(
                torch.from_numpy(ids).to(self._device), attention_mask=present
            ).last_hidden_state
            logits = self._model.classifier(hidden.flatten(0, 1)[torch.from_numpy(read)])
        found: NDArray[np.float32] = logits.float().cpu().numpy()
        return found
