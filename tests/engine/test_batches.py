"""Runs in batches: as large as memory allows, and the same with stops on the way as without."""

import jax
import numpy as np
import pytest

from fedcos_jax import Schedule, client_sgd, devices, fedcos, scaffold
from fedcos_jax.engine.batches import Batches, Trial, compiled_programs, fitting_batch
from tests.problems import SOFTMAX_REGRESSION, gaussian_data, small_experiment

SCHEDULE = Schedule(rounds=7, local_steps=3, batch_size=3, eval_every=2)
ALONE = Schedule(rounds=3, local_steps=3, batch_size=3, eval_every=2, placement=devices.available(1))


def same_bits(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def close(a, b):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12), a, b)


def collected(batches, runs, until):
    return {run: history for batch in batches.advance(runs, until) for run, history in batch.items()}


@pytest.mark.parametrize("method", [fedcos(0.3), scaffold()], ids=["fedcos", "scaffold"])
@pytest.mark.parametrize("batch", [1, 2])
def test_stops_change_nothing(x64, method, batch):
    """Runs that stop and go on have the numbers of runs without stops: bit for bit, if a batch has one run.

    Larger batches get smaller where few runs go on. They are other programs, which may round differently.
    """
    equal = same_bits if batch == 1 else close
    experiment = small_experiment(method, SCHEDULE)

    def batches(keep):
        trial = lambda run: Trial(jax.random.key(run), optimizer=client_sgd(0.01 + run / 200))  # noqa: E731
        return Batches(8, trial, experiment, batch=batch, keep=keep)

    whole = collected(batches(False), range(8), 7)
    stopping = batches(True)
    programs = compiled_programs()
    first = collected(stopping, range(8), 2)
    for run, history in first.items():
        assert history.evaluated.tolist() == [2]
        equal(history.rounds, jax.tree.map(lambda leaf: leaf[:2], whole[run].rounds))
        equal(history.evaluation, jax.tree.map(lambda leaf: leaf[:1], whole[run].evaluation))
    collected(stopping, range(4), 4)
    equal(collected(stopping, range(8), 7), whole)
    assert compiled_programs() - programs <= (batch > 1), "a stop has compiled another program"


def test_a_run_that_is_forgotten_starts_again():
    batches = Batches(2, lambda run: Trial(jax.random.key(run)), small_experiment(schedule=SCHEDULE), keep=True)
    collected(batches, [0, 1], 4)
    batches.forget([0])
    fresh = Batches(2, lambda run: Trial(jax.random.key(run)), small_experiment(schedule=SCHEDULE))
    same_bits(collected(batches, [0, 1], 7), collected(fresh, [0, 1], 7))


def test_the_batch_follows_the_memory():
    data = gaussian_data()
    stacked = Trial(
        jax.random.key(0)[None],
        jax.tree.map(lambda x: np.asarray([x], np.float32), fedcos(0.1)),
        jax.tree.map(lambda x: np.asarray([x], np.float32), client_sgd(0.1)),
        data.indices[None],
        data.offsets[None],
    )

    def fitting(memory):
        return fitting_batch(stacked, data, SOFTMAX_REGRESSION, ALONE, memory)

    many = fitting(10**9)
    assert many > 100
    bytes_of_one = 10**9 // many
    for batch in (1, 7):
        assert fitting(batch * bytes_of_one) in (batch, batch - 1)
        assert fitting(batch * (bytes_of_one + 1)) == batch
    assert fitting(1) == 1
    assert fitting(None) == 1
