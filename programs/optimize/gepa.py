"""`dspy.GEPA` for one job: set up, kept quiet, interruptible, resumed from its own state."""

from __future__ import annotations

import contextlib
import io
import logging
import signal
import threading
from collections.abc import Iterator
from typing import Any

import dspy
import gepa.core.engine as engine

from programs.lm import cancel_calls
from programs.optimize.answers import Answers, KeepingAdapter
from programs.optimize.fingerprint import Job
from programs.optimize.live import Live
from programs.optimize.reflection import Proposer
from reno_dspy.base.errors import JobError
from reno_dspy.base.progress import say
from reno_dspy.base.rundir import RunDir

STATE = "gepa"
_ENDING = (signal.SIGINT, signal.SIGTERM)
# Seconds that Ctrl-C waits for answers under way, which are paid for; and that giving them up takes.
GRACE_S = 30.0
_CANCELLING_S = 5.0


def run_gepa(
    job: Job,
    metric_calls: int,
    run_dir: RunDir,
    answers: Answers,
    proposer: Proposer,
    stoppers: list[Any],
    live: Live,
) -> Any:
    """Run `dspy.GEPA` and return its final state."""
    final = _FinalState()
    (run_dir / STATE / "gepa.stop").unlink(missing_ok=True)  # else it would end this run at once
    gepa = dspy.GEPA(
        metric=job.task.metric(job.config),
        max_metric_calls=metric_calls,
        reflection_minibatch_size=job.config.minibatch,
        reflection_lm=job.reflection,
        instruction_proposer=proposer,
        use_merge=False,  # it merges components of two candidates; there is one component
        num_threads=job.config.threads,
        log_dir=str(run_dir / STATE),
        seed=job.config.seed,
        # No `cache_evaluation`: it takes train's example 3 for dev's. `answers` is the cache.
        gepa_kwargs={
            "frontier_type": "hybrid",
            "stop_callbacks": stoppers,
            "callbacks": [proposer, live, final],
        },
    )
    with (
        _quiet(),
        _interruptible(answers),
        dspy.context(
            lm=job.student, adapter=KeepingAdapter(answers, may_be_empty=job.task.may_be_empty)
        ),
    ):
        gepa.compile(
            job.task.program(job.prompt),
            trainset=[job.task.example(item) for item in job.train],
            valset=[job.task.example(item) for item in job.dev],
        )
    return final.state


class _FinalState:
    """A GEPA callback that hands the final state out."""

    state: Any = None

    def on_optimization_end(self, event: dict[str, Any]) -> None:
        self.state = event["final_state"]


class _NoBar:
    """Stands in for the tqdm bar that `dspy.GEPA` does not let one switch off."""

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def update(self, count: int) -> None:
        pass

    def close(self) -> None:
        pass


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Only our progress bar: GEPA and DSPy draw their own and log every proposal."""
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    their_bar, engine.tqdm = engine.tqdm, _NoBar
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        engine.tqdm = their_bar
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def _interruptible(answers: Answers) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the job: nothing more is asked, and answers under way are kept.

    Ctrl-C waits for them; a second one, or SIGTERM, gives them up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        patience = 0.0 if answers.interrupted or number == signal.SIGTERM else GRACE_S
        answers.interrupted = True
        # In a thread: a signal may come while this one writes, or holds a lock.
        threading.Thread(target=_wind_down, args=(answers, patience), daemon=True).start()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    except JobError:
        raise
    except BaseException:
        if answers.interrupted:
            answers.wait_until_idle(GRACE_S + _CANCELLING_S)
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wind_down(answers: Answers, patience: float) -> None:
    """Give answers under way the time to come, then give them up."""
    left = answers.wait_until_idle(0)
    if patience and left:
        say(f"Interrupted: waiting up to {patience:.0f} s for {left} answers. Ctrl-C drops them.")
    if answers.wait_until_idle(patience):
        cancel_calls()
