"""Train a tagger: gold fields placed on their references, words labelled, LoRA and a head.

    reno finetune tagger --data DATA --out DIR

References whose names are not split teach everything but the inside of names. A killed run resumes
from its last checkpoint; the best weights by field recall on dev are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import TrainingArguments, set_seed

from finetune.base import Base, resolve_base
from finetune.models import load_tokenizer, old_names_allowed
from finetune.recipe import FinetuneConfig, TaggerOptions
from finetune.tagger.annotating import Annotator
from finetune.tagger.encoding import encode, pad
from finetune.tagger.labels import NOTHING, Labels, labels_for
from finetune.tagger.model import new_model, score
from finetune.training.callbacks import BEST, best_of
from finetune.training.data import TrainingData
from finetune.training.loop import (
    CHECKPOINTS,
    FinetuneResult,
    conclude,
    identity_of,
    nothing_to_train_on,
    result_of,
    run_trainer,
    tracked,
    trainer_options,
)
from finetune.training.measure import summary
from finetune.training.order import OrderedTrainer
from finetune.training.rows import Lesson, RowsReport, make_lessons
from finetune.training.save import ADAPTER, save_adapter
from reno_dspy.base.files import write_json
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.data.dataset import Row
from reno_dspy.measure.metric import compare

# Token ids and targets of one reference.
Record = dict[str, list[int]]


def train_tagger(
    config: FinetuneConfig, data: TrainingData, tracker: Tracker, *, fresh: bool = False
) -> FinetuneResult:
    """Train a tagger by `config` on `data` into `config.out`, or resume that.

    Raises InputError when the run directory holds another run, or no row can be trained on.
    """
    base = resolve_base(config.base)
    run_dir = RunDir.open(config.out, "finetune", identity_of(config, base, data), fresh=fresh)
    lessons, report = make_lessons(
        data.train.rows,
        licences=config.licences,
        complete_only=config.complete_only,
        noise=config.noise,
        seed=config.seed,
    )
    assert config.tagger
    labels = labels_for(lessons, config.tagger.min_count)
    tokenizer = load_tokenizer(base)
    records = _records(lessons, labels, tokenizer, config, report)
    if not records:
        raise nothing_to_train_on(config, report)
    write_json(run_dir / "rows.json", report.as_dict())
    with tracked(config, base, data, run_dir, tracker, " tagger") as run:
        if not (run_dir / ADAPTER).is_dir():
            model = _train(config, base, records, labels, tokenizer, data.dev.rows, run_dir, run)
            best = best_of(run_dir)
            weights = run_dir / BEST if best else model
            save_adapter(
                weights, run_dir, config, base, None, data, report, best, labels=labels.names
            )
        result = result_of(run_dir, report)
        conclude(run, result)
    return result


def _train(
    config: FinetuneConfig,
    base: Base,
    records: Sequence[Record],
    labels: Labels,
    tokenizer: Any,
    dev: Sequence[Row],
    run_dir: RunDir,
    run: Run,
) -> Any:
    """Train to the end; the PEFT model with its last weights."""
    assert config.tagger
    options = config.tagger
    set_seed(config.seed)
    trainer = TaggerTrainer(
        new_model(base, options, len(labels.names), config.lora),
        TrainingArguments(
            **trainer_options(config, run_dir / CHECKPOINTS), remove_unused_columns=False
        ),
        train_dataset=records,
        data_collator=_collate(tokenizer.pad_token_id),
        options=options,
        labels=labels,
    )

    def measure(model: Any) -> dict[str, float | None]:
        was_training = model.training
        annotator = Annotator(model.eval(), tokenizer, labels.names, options)
        texts = annotator.annotate([row.plaintext or "" for row in dev])
        model.train(was_training)
        scores = [
            compare(row.xml, text, plaintext=row.plaintext)
            for row, text in zip(dev, texts, strict=True)
        ]
        return summary(scores)

    with old_names_allowed():
        run_trainer(trainer, config, len(records), measure if dev else None, run_dir, run)
    return trainer.model


def _records(
    lessons: Sequence[Lesson],
    labels: Labels,
    tokenizer: Any,
    config: FinetuneConfig,
    report: RowsReport,
) -> list[Record]:
    """Inputs and targets. Nothing is cut; lessons over `max_length` tokens count as `too_long`."""
    assert config.tagger
    records = []
    for lesson in lessons:
        encoded = encode(lesson.plaintext, tokenizer, config.tagger.context)
        targets = [NOTHING] * len(encoded.ids)
        of_words = labels.targets(encoded.words, lesson.spans)
        for place, target in zip(encoded.places, of_words, strict=True):
            targets[place] = target
        targets[-1] = labels.target_of_type(lesson.publication_type)
        if len(encoded.ids) <= config.max_length:
            records.append({"input_ids": list(encoded.ids), "labels": targets})
    if len(records) < len(lessons):
        report.dropped["too_long"] = len(lessons) - len(records)
    report.used = len(records)
    return records


def _collate(padding: int) -> Any:
    def collate(rows: list[Record]) -> dict[str, Tensor]:
        ids = [row["input_ids"] for row in rows]
        present = pad([[1] * len(row) for row in ids], 0).bool()
        labels = pad([row["labels"] for row in rows], NOTHING)
        return {"input_ids": pad(ids, padding), "attention_mask": present, "labels": labels}

    return collate


class TaggerTrainer(OrderedTrainer):
    """Trainer whose loss is the negative log-probability of a word's right labels together."""

    def __init__(self, *args: Any, options: TaggerOptions, labels: Labels, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._options = options
        self._sets = torch.from_numpy(labels.sets)
        self.model_accepts_loss_kwargs = True

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        """Summed over the words (and types) that have a target, divided by `num_items_in_batch`."""
        read = inputs["labels"] != NOTHING
        with self.accelerator.autocast():
            logits = score(
                model, inputs["input_ids"], inputs["attention_mask"], read, self._options
            ).float()
        right = self._sets.to(logits.device)[inputs["labels"][read]]
        log_likelihood = logits.masked_fill(~right, -torch.inf).logsumexp(-1) - logits.logsumexp(-1)
        count = read.sum() if num_items_in_batch is None else num_items_in_batch
        return -log_likelihood.sum() / count
