"""What `run` tells its callbacks, and callbacks that end a run."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.engine.evaluation import Evaluation, score
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.errors import require, require_at_least, require_known
from fedcos_jax.types import RoundState


class Report(NamedTuple):
    """What `run` tells its callbacks after each tick."""

    completed: int
    """Rounds completed since the start of the run."""
    rounds: RoundInfo
    """The rounds since the last report, [rounds], on the host."""
    evaluation: Evaluation | None
    """The global model on the test set, or None if this tick ended between evaluations."""
    state: RoundState
    """The current state. The next tick reuses its buffers."""


Callback = Callable[[Report], Any]
"""Called after each tick. The run ends if it returns True.

A callback may have a method `compiling(completed)` that returns a context manager. `run` enters it, with the number of
rounds completed so far, for as long as it compiles.
"""


def told(report: Report, callbacks: Sequence[Callback]) -> bool:
    """Tells all callbacks, and says whether one of them wants the run to end."""
    answers = [callback(report) for callback in callbacks]
    return any(answer is True for answer in answers)


@contextmanager
def compiling(callbacks: Sequence[Callback], completed: int) -> Iterator[None]:
    """Enters what the callbacks want to be entered while the run compiles."""
    with ExitStack() as stack:
        for callback in callbacks:
            if (enter := getattr(callback, "compiling", None)) is not None:
                stack.enter_context(enter(completed))
        yield


def stop_at(**targets: float) -> Callback:
    """A callback that ends the run as soon as each named metric, or the loss, is at least as good as its target.

    Example:
        >>> callbacks = [fc.stop_at(accuracy=0.9)]
        >>> callbacks = [fc.stop_at(rmse=0.1, loss=0.02)]
    """
    require(bool(targets), "stop_at needs a target, like stop_at(accuracy=0.9)")

    def stop(report: Report) -> bool:
        if report.evaluation is None:
            return False
        loss, shares, errors = report.evaluation
        lowest = {**errors, "loss": loss}
        for name in targets:
            require_known(name, [*shares, *lowest], "metric")
        return all(shares[name] >= t if name in shares else lowest[name] <= t for name, t in targets.items())

    return stop


def patience(evaluations: int) -> Callback:
    """A callback that ends the run after this many evaluations in a row without a better accuracy, or another score.

    It counts for one run. Make a new one for the next run.

    Args:
        evaluations: how many to wait for a better one, at least 1. A score that is not a number is not better.

    Example:
        >>> state, history = fc.run(jax.random.key(0), experiment, callbacks=[fc.patience(5)])
    """
    require_at_least(1, patience=evaluations)
    best, waited = -math.inf, 0

    def stop(report: Report) -> bool:
        nonlocal best, waited
        if report.evaluation is None:
            return False
        value = score(report.evaluation).goodness
        waited = 0 if value > best else waited + 1
        best = float(np.fmax(best, value))
        return waited >= evaluations

    return stop
