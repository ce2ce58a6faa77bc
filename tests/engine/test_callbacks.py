"""Callbacks that end a run, and what all callbacks are told."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from fedcos_jax.engine.callbacks import compiling, patience, stop_at, told
from fedcos_jax.engine.evaluation import Evaluation, score
from fedcos_jax.errors import InputError


def report(accuracy=None):
    evaluation = None if accuracy is None else Evaluation(np.float32(1), {"accuracy": np.float32(accuracy)}, {})
    return SimpleNamespace(evaluation=evaluation)


def test_a_run_ends_if_one_callback_returns_true():
    seen = []
    assert not told("report", [seen.append, lambda report: 1])
    assert told("report", [lambda report: True, seen.append])
    assert seen == ["report", "report"]


def test_an_accuracy_to_stop_at():
    stop = stop_at(accuracy=0.5)
    assert [stop(report(accuracy)) for accuracy in (None, 0.4, 0.5, 0.6)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("evaluations", "accuracies", "answers"),
    [
        (1, [0.1, 0.2, 0.2], [False, False, True]),
        (2, [0.3, None, 0.2, None, 0.3], [False, False, False, False, True]),
        (2, [0.3, 0.2, 0.4, 0.1, 0.2], [False, False, False, False, True]),
        (2, [float("nan"), float("nan")], [False, True]),
        (2, [float("nan"), 0.1, float("nan"), 0.2, 0.1], [False] * 5),
    ],
)
def test_patience(evaluations, accuracies, answers):
    stop = patience(evaluations)
    assert [stop(report(accuracy)) for accuracy in accuracies] == answers


def test_patience_needs_an_evaluation():
    with pytest.raises(InputError, match="patience must be at least 1, got 0"):
        patience(0)


def test_the_score_of_an_evaluation():
    assert str(score(report(0.875).evaluation)) == "accuracy 87.50%"


def test_callbacks_without_a_wish_are_left_alone():
    seen = []

    @contextmanager
    def enter(completed):
        seen.append(completed)
        try:
            yield
        finally:
            seen.append("over")

    with pytest.raises(ZeroDivisionError), compiling([print, SimpleNamespace(compiling=enter)], 5):
        raise ZeroDivisionError
    assert seen == [5, "over"]
