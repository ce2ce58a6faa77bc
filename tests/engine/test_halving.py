"""Successive halving: where points stop, which go on, and that going on changes no number."""

import math

import jax
import numpy as np
import pytest

import fedcos_jax as fc
from fedcos_jax.engine.halving import Rung, climb, halving, rungs
from fedcos_jax.errors import InputError
from tests.problems import small_experiment

EXPERIMENT = small_experiment(schedule=fc.Schedule(rounds=8, local_steps=2, batch_size=3))
POINTS = fc.grid(lr=[0.01, 0.05, 0.1, 0.3], seed=[0, 1])


def trial(lr, seed):
    return fc.Trial(jax.random.key(seed), optimizer=fc.client_sgd(lr))


@pytest.mark.parametrize(
    ("points", "rounds", "eval_every", "reduction", "expected"),
    [
        (27, 27, 1, 3, [(1, 27, 9), (3, 9, 3), (9, 3, 1), (27, 1, 1)]),
        (12, 90, 1, 3, [(10, 12, 4), (30, 4, 1), (90, 1, 1)]),
        (4, 20, 3, 2, [(6, 4, 2), (12, 2, 1), (20, 1, 1)]),
        (64, 4, 1, 2, [(1, 64, 32), (2, 32, 16), (4, 16, 16)]),
        (3, 10, 1, 3, [(4, 3, 1), (10, 1, 1)]),
    ],
)
def test_rungs(points, rounds, eval_every, reduction, expected):
    assert [tuple(rung) for rung in rungs(points, rounds, eval_every, reduction)] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((9, 10, 1, 1), "R at least 2, got 1"),
        ((2, 10, 1, 3), "halving by 3 needs at least 3 points, and there are 2"),
        ((9, 10, 10, 3), "needs an evaluation before the last round: there are 10 rounds, and 10 between"),
    ],
)
def test_halving_that_cannot_be(arguments, message):
    with pytest.raises(InputError, match=message):
        rungs(*arguments)


def test_the_best_go_on_and_nothing_that_is_not_a_number_does():
    asked = []

    def advance(alive, until):
        asked.append((alive, until))
        return {0: 0.5, 1: math.nan, 2: 0.9, 3: 0.5} if until == 1 else dict.fromkeys(alive, 0.1)

    assert climb([Rung(1, 4, 2), Rung(2, 2, 1), Rung(4, 1, 1)], advance) == [4, 1, 2, 1]
    assert asked == [([0, 1, 2, 3], 1), ([0, 2], 2), ([0], 4)]


def test_survivors_are_those_of_a_sweep_without_halving():
    whole = fc.sweep(trial, POINTS, EXPERIMENT)
    seen = []
    halved = halving(trial, POINTS, EXPERIMENT, 2, progress=seen.append)
    assert seen == halved.rungs == [Rung(2, 4, 2), Rung(4, 2, 1), Rung(8, 1, 1)]
    assert sorted(halved.rounds) == [2] * 4 + [4] * 2 + [8] * 2
    for place, (history, rounds) in enumerate(zip(halved.histories, halved.rounds, strict=True)):
        cut = jax.tree.map(lambda leaf, place=place, rounds=rounds: leaf[place][:rounds], whole)
        jax.tree.map(np.testing.assert_array_equal, history, cut)
    accuracy = whole.evaluation.accuracy.reshape(4, 2, 8).mean(1)
    go_on = [point for point in range(4) if halved.rounds[2 * point] > 2]
    assert min(accuracy[go_on, 1]) >= max(np.delete(accuracy[:, 1], go_on))
    (best,) = (point for point in range(4) if halved.rounds[2 * point] == 8)
    assert accuracy[best, 3] == max(accuracy[go_on, 3])


def test_any_score():
    halved = fc.halving(trial, POINTS, EXPERIMENT, 4, score=lambda history: -float(history.evaluation.loss[-1]))
    whole = fc.sweep(trial, POINTS, EXPERIMENT)
    loss = whole.evaluation.loss[:, 1].reshape(4, 2).mean(1)
    assert halved.rounds[2 * int(loss.argmin())] == 8


def test_seeds_by_another_name_and_values_that_cannot_be_compared():
    """A method holds arrays, so it stands for itself."""
    methods = [fc.fedcos(jax.numpy.float32(0.1)), fc.fedcos(jax.numpy.float32(0.5))]
    points = fc.grid(method=methods, repeat=[0, 1])
    make = lambda method, repeat: fc.Trial(jax.random.key(repeat), method)  # noqa: E731
    halved = fc.halving(make, points, EXPERIMENT, 2, seeds="repeat")
    assert sorted(halved.rounds) == [4, 4, 8, 8]
    assert halved.rounds[0] == halved.rounds[1]
