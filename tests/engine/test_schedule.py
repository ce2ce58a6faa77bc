"""What a schedule accepts, and the shapes that follow from it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import Schedule, devices
from fedcos_jax.engine.schedule import fraction_of
from fedcos_jax.errors import InputError
from tests.problems import SOFTMAX_REGRESSION, gaussian_data

SIZES = (4, 7, 6, 9, 5)


def shapes(data=None, **changes):
    given = {"rounds": 7, "local_steps": 3, "batch_size": 3, "cohort": 4} | changes
    return Schedule(**given).shapes(data or gaussian_data(SIZES), SOFTMAX_REGRESSION)


def test_numpy_integers_are_whole_numbers():
    assert Schedule(rounds=np.int64(2), batch_size=np.int32(3)).rounds == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"batch_size": 0}, "batch size must be at least 1"),
        ({"local_steps": 2.5}, "local steps must be a whole number"),
        ({"cohort": 6}, "6 clients per round are more than the 5"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"rounds": 2**31}, r"rounds must be below 2\*\*31"),
    ],
)
def test_bad_schedules(changes, message):
    with pytest.raises(InputError, match=message):
        shapes(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 8}, "the schedule has 8 rounds, but cohorts are given for 7"),
        ({"cohort": 3}, "the schedule has 3 clients per round, the given cohorts 4"),
    ],
)
def test_schedules_that_do_not_fit_the_cohorts(changes, message):
    data = gaussian_data(SIZES)._replace(cohorts=jnp.zeros((7, 4), jnp.int32))
    with pytest.raises(InputError, match=message):
        shapes(data, **changes)
    assert shapes(data, cohort=None).cohort == 4


def test_fractions():
    assert [fraction_of(100, f) for f in (0.1, 0.2, 1.0, 0.001)] == [10, 20, 100, 1]
    for fraction in (0, -0.1, 1.01, float("nan")):
        with pytest.raises(InputError, match="must lie in"):
            fraction_of(100, fraction)


def test_a_cohort_needs_no_more_devices_than_clients():
    assert shapes(cohort=3).placement.count == 3
    assert shapes(cohort=5).placement.count == len(jax.local_devices())
    assert shapes(cohort=5, placement=devices.available(2)).placement.count == 2


def test_steps_follow_from_rows():
    sizes = jnp.array([0, 1, 3, 4, 9], jnp.int32)
    assert shapes().num_steps(sizes).tolist() == [0, 3, 3, 3, 3]
    assert shapes(local_epochs=2).num_steps(sizes).tolist() == [0, 2, 2, 4, 6]
