"""Train a tagger: gold fields placed on their references, words labelled, LoRA and a head.

    reno finetune tagger-smollm2 --data DATA --out DIR

References whose names are not split teach everything but the inside of names. A killed run resumes
from its last checkpoint; the best weights by field recall on dev are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from peft import get_peft_model
from torch import Tensor
from transformers import TrainingArguments, set_seed

from finetune.base import Base, resolve_base
from finetune.cpu import halve_linears, has_bfloat16
from finetune.models import load_tokenizer, old_names_allowed
from finetune.recipe import FinetuneConfig, Lora, TaggerOptions
from finetune.tagger.annotating import Annotator
from finetune.tagger.encoding import encode, pad
from finetune.tagger.model import HEAD, classifier, score
from finetune.training.data import TrainingData
from finetune.training.job import Job, opened, tracked
from finetune.training.loop import (
    CHECKPOINTS,
    FinetuneResult,
    conclude,
    lora_config,
    nothing_to_train_on,
    result_of,
    run_trainer,
    trainer_options,
)
from finetune.training.measure import scored
from finetune.training.order import OrderedTrainer
from finetune.training.rows import RowsReport, lessons_of
from finetune.training.save import ADAPTER, save_adapter
from finetune.training.targets import NOTHING, Targets, labels_for
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import write_json
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.data.lessons import Lesson

# Token ids and targets of one reference.
Record = dict[str, list[int]]


def train_tagger(
    config: FinetuneConfig, data: TrainingData, tracker: Tracker, *, fresh: bool = False
) -> FinetuneResult:
    """Train a tagger by `config` on `data` into `config.out`, or resume that.

    Raises InputError when the run directory holds another run, or no row can be trained on.
    """
    base = resolve_base(config.base)
    with opened(config, base, data, fresh=fresh) as job:
        lessons, report = lessons_of(data.train.rows, config)
        assert config.tagger
        targets = Targets(labels_for(lessons, config.tagger.min_count))
        tokenizer = load_tokenizer(base)
        records = _records(lessons, targets, tokenizer, config, report)
        if not records:
            raise nothing_to_train_on(config, report)
        write_json(job.run_dir / "rows.json", report.as_dict())
        with tracked(job, tracker, " tagger") as run:
            if not (job.run_dir / ADAPTER).is_dir():
                model = _train(job, records, targets, tokenizer, run)
                save_adapter(job, model, report, labels=targets.labels.names)
            result = result_of(job.run_dir, report)
            conclude(run, result)
    return result


def _train(job: Job, records: Sequence[Record], targets: Targets, tokenizer: Any, run: Run) -> Any:
    """Train to the end; the PEFT model with its last weights."""
    config, dev = job.config, job.data.dev.rows
    assert config.tagger
    options, names = config.tagger, targets.labels.names
    set_seed(config.seed)
    trainer = CausalTaggerTrainer(
        new_model(job.base, options, len(names), config.lora),
        TrainingArguments(
            **trainer_options(config, job.run_dir / CHECKPOINTS), remove_unused_columns=False
        ),
        train_dataset=records,
        data_collator=collate(tokenizer.pad_token_id),
        options=options,
        targets=targets,
    )

    def measure(model: Any) -> dict[str, float | None]:
        was_training = model.training
        annotator = Annotator(model.eval(), tokenizer, names, options)
        answers = annotator.annotate([row.plaintext or "" for row in dev])
        texts = [one.xml for one in answers]
        model.train(was_training)
        return scored(dev, texts)

    with old_names_allowed():
        run_trainer(trainer, job, len(records), measure if dev else None, run)
    return trainer.model


def _records(
    lessons: Sequence[Lesson],
    targets: Targets,
    tokenizer: Any,
    config: FinetuneConfig,
    report: RowsReport,
) -> list[Record]:
    """Inputs and targets. Nothing is cut; lessons over `max_length` tokens count as `too_long`."""
    assert config.tagger
    records = []
    for lesson in lessons:
        encoded = encode(lesson.plaintext, tokenizer, config.tagger.context)
        right = [NOTHING] * len(encoded.ids)
        of_words = targets.of_words(encoded.words, lesson.spans)
        for place, target in zip(encoded.places, of_words, strict=True):
            right[place] = target
        right[-1] = targets.of_type(lesson.publication_type)
        if len(encoded.ids) <= config.max_length:
            records.append({"input_ids": list(encoded.ids), "labels": right})
    report.leave_out_long(len(records))
    return records


def collate(padding: int) -> Any:
    """A data collator that pads ids with `padding` and targets with `NOTHING`."""

    def batch(rows: list[Record]) -> dict[str, Tensor]:
        ids = [row["input_ids"] for row in rows]
        present = pad([[1] * len(row) for row in ids], 0).bool()
        labels = pad([row["labels"] for row in rows], NOTHING)
        return {"input_ids": pad(ids, padding), "attention_mask": present, "labels": labels}

    return batch


def new_model(base: Base, options: TaggerOptions, labels: int, lora: Lora) -> Any:
    """The base with fresh LoRA weights and a fresh head over `labels`, ready to train (PEFT)."""
    # The head is named, since "all-linear" would put LoRA on it and fail.
    config = lora_config(lora, "TOKEN_CLS", save=(HEAD,))
    try:
        with old_names_allowed():
            model = get_peft_model(classifier(base, options, labels), config)
    except ValueError as error:
        raise InputError(f"LoRA does not fit {base.name}: {error}") from error
    if not torch.cuda.is_available() and has_bfloat16():
        halve_linears(model, keep=frozenset({HEAD}))
    return model


class TaggerTrainer(OrderedTrainer, ABC):
    """Trainer whose loss is the negative log-probability of a word's right labels together."""

    def __init__(self, *args: Any, targets: Targets, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sets = torch.from_numpy(targets.sets())
        self.model_accepts_loss_kwargs = True

    @abstractmethod
    def score(self, model: Any, inputs: dict[str, Tensor], read: Tensor) -> Tensor:
        """Logits (positions that `read` marks, labels)."""

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
            logits = self.score(model, inputs, read).float()
        right = self._sets.to(logits.device)[inputs["labels"][read]]
        log_likelihood = logits.masked_fill(~right, -torch.inf).logsumexp(-1) - logits.logsumexp(-1)
        count = read.sum() if num_items_in_batch is None else num_items_in_batch
        return -log_likelihood.sum() / count


class CausalTaggerTrainer(TaggerTrainer):
    """A TaggerTrainer of a language model's layers."""

    def __init__(self, *args: Any, options: TaggerOptions, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._options = options

    def score(self, model: Any, inputs: dict[str, Tensor], read: Tensor) -> Tensor:
        """Logits (positions that `read` marks, labels)."""
        present = inputs["attention_mask"]
        return score(model, inputs["input_ids"], present, read, self._options)
