"""The bar moves with the rounds, also between evaluations."""

from types import SimpleNamespace

import numpy as np

from fedcos_jax.cli.progress import progress_bar, runs_bar
from fedcos_jax.engine.evaluation import Evaluation


def report(completed, accuracy=None):
    evaluation = None if accuracy is None else Evaluation(np.float32(1), {"accuracy": np.float32(accuracy)}, {})
    return SimpleNamespace(completed=completed, evaluation=evaluation)


def test_the_bar_moves_between_evaluations(capsys):
    with progress_bar("FedCos(0.02)", 4) as advance:
        for one in (report(1), report(2, 0.5), report(3), report(4, 0.75)):
            advance(one)
    shown = capsys.readouterr().err
    assert "FedCos(0.02)" in shown
    assert "4/4" in shown
    assert "accuracy 75.00%" in shown


def test_nothing_is_shown_when_it_should_be_quiet(capsys):
    with progress_bar("FedAvg", 2, shown=False) as advance:
        advance(report(2, 0.5))
    with runs_bar("sweep", 3, shown=False) as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""
