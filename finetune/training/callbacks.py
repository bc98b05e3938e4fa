"""Callbacks of a training run: loss, dev recall, a progress bar, early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from accelerate import PartialState
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from finetune.recipe import DevSample
from reno_dspy.base.files import replacing_folder
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import Bar
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run

EVALUATIONS = "evaluations.jsonl"
BEST = "best"
# Trainer's name -> ours.
_LOGGED = {
    "loss": "train/loss",
    "learning_rate": "train/learning_rate",
    "grad_norm": "train/grad_norm",
    "mean_token_accuracy": "train/token_accuracy",
    "num_input_tokens_seen": "train/tokens",
    "epoch": "train/epoch",
}


class LiveCallback(TrainerCallback):  # type: ignore[misc]
    """Loss and learning rate to the tracker and `train.jsonl`, progress to the terminal."""

    def __init__(self, run: Run, bar: Bar, log: JsonlLog) -> None:
        self._run, self._bar, self._log = run, bar, log
        self.losses: dict[int, float] = {r["step"]: r["train/loss"] for r in log.read()}

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """One training step's figures."""
        logs = logs or {}
        if "loss" not in logs or not state.is_world_process_zero:
            return
        step = state.global_step
        values = {ours: float(logs[name]) for name, ours in _LOGGED.items() if name in logs}
        if step not in self.losses:
            self._run.metrics(values, step)
            with self._log.appending() as log:
                log.write({"step": step, **values})
        self.losses[step] = values["train/loss"]
        self._bar.advance(note=f"loss {values['train/loss']:.3f}")


class RecallCallback(TrainerCallback):  # type: ignore[misc]
    """Measures recall on dev every `options.every` steps and at the end, and keeps the best weights.

    Of several processes the first measures; the others wait and decide by what it wrote.
    """

    def __init__(
        self,
        measure: Callable[[Any], dict[str, float | None]],
        options: DevSample,
        run_dir: RunDir,
        run: Run,
    ) -> None:
        self._model_figures, self._every, self._patience = measure, options.every, options.patience
        self._run_dir, self._run = run_dir, run
        self._log = run_dir.log(EVALUATIONS)

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **kwargs: Any,
    ) -> None:
        """Measure when it is time; stop when nothing was gained for long enough."""
        step = state.global_step
        if step % self._every == 0 or step >= state.max_steps:
            if state.is_world_process_zero:
                self._measure(model, step)
            PartialState().wait_for_everyone()
        if self._patience and _since_best(self._log.read(), step) >= self._patience:
            control.should_training_stop = True

    def _measure(self, model: Any, step: int) -> None:
        done = self._log.read()
        if step in {record["step"] for record in done}:
            return
        values = self._model_figures(model)
        record = {"step": step, **values}
        if all(_recall(record) > _recall(other) for other in done):
            # The weights first: the line in the log promises that they are there.
            with replacing_folder(self._run_dir / BEST) as folder:
                model.save_pretrained(folder)
        with self._log.appending() as log:
            log.write(record)
        self._run.metrics({f"dev/{name}": value for name, value in values.items()}, step)


def best_of(run_dir: RunDir) -> dict[str, Any] | None:
    """The record of the best measurement; None where nothing was measured."""
    done = run_dir.log(EVALUATIONS).read()
    return max(done, key=_recall, default=None)


def _recall(record: Mapping[str, Any]) -> float:
    recall = record["recall"]
    return -1.0 if recall is None else float(recall)


def _since_best(done: list[dict[str, Any]], step: int) -> int:
    """How many measurements up to `step` came after the best one."""
    seen = [record for record in done if record["step"] <= step]
    best = max(seen, key=_recall, default=None)
    return len(seen) - 1 - seen.index(best) if best else 0
