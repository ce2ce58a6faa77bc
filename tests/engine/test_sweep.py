"""A sweep is its points run one by one, and one compiled program."""

import weakref

import chex
import jax
import numpy as np
import pytest

from fedcos_jax import Schedule, client_sgd, devices, fedavg, fedcos, run
from fedcos_jax.engine.batches import Trial, compiled_programs
from fedcos_jax.engine.sweep import grid, sweep
from fedcos_jax.errors import InputError
from fedcos_jax.labels import parse
from tests.problems import gaussian_data, small_experiment

SCHEDULE = Schedule(rounds=3, local_steps=3, batch_size=3, eval_every=2)
ALONE = Schedule(rounds=3, local_steps=3, batch_size=3, eval_every=2, placement=devices.available(1))
EXPERIMENT = small_experiment(schedule=SCHEDULE)
POINTS = grid(strength=[0.0, 0.2, 0.5], lr=[0.05, 0.1], seed=[0, 1])


def trial(strength, lr, seed):
    return Trial(jax.random.key(seed), fedcos(strength), client_sgd(lr))


def close(a, b):
    chex.assert_trees_all_close(jax.device_get(a), jax.device_get(b), rtol=1e-9, atol=1e-12)


def test_grid_is_every_combination():
    assert grid(a=[1, 2], b="xy") == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    points = grid(a=[1, 2], b="xyz")
    assert [points[place] for place in range(6)] == list(points) == points[:]
    assert (points[-1], points[1:3]) == ({"a": 2, "b": "z"}, [{"a": 1, "b": "y"}, {"a": 1, "b": "z"}])
    with pytest.raises(IndexError):
        points[6]
    assert len(points + grid(a=[3])) == 7
    assert repr(points) == "Grid of 6 points: a 2, b 3"
    with pytest.raises(InputError, match="axis b of the grid has no values"):
        grid(a=[1], b=[])


def test_a_large_grid_takes_no_memory():
    points = grid(a=range(10**4), b=range(10**4), c=range(10**4))
    assert len(points) == 10**12
    assert points[123_456_789_012] == {"a": 1234, "b": 5678, "c": 9012}


def test_trials_are_made_when_their_batch_starts():
    """After the check, no more trials exist than the batch has."""
    made = []
    most = 0

    class Numbers(np.ndarray):
        pass

    def trial(seed):
        nonlocal most
        offsets = np.array([0, 4, 11, 17, 26], np.int32).view(Numbers)
        made.append(weakref.ref(offsets))
        most = max(most, sum(one() is not None for one in made))
        return Trial(jax.random.key(seed), offsets=offsets)

    sweep(trial, grid(seed=range(20)), EXPERIMENT, batch=1)
    assert most <= 2 * jax.device_count() + 2


def run_alone(trial, **parts):
    """The history of one trial by itself."""
    return run(trial.key, small_experiment(trial.method, ALONE, optimizer=trial.optimizer, **parts))[1]


@pytest.mark.parametrize("batch", [None, 1, 2, 100])
def test_a_sweep_is_its_points_one_by_one(x64, batch):
    done = []
    swept = sweep(trial, POINTS, small_experiment(schedule=SCHEDULE), batch=batch, progress=done.append)
    for i, point in enumerate(POINTS):
        close(jax.tree.map(lambda leaf, i=i: leaf[i], swept), run_alone(trial(**point)))
    assert done[-1] == len(POINTS)
    assert done == sorted(set(done))


def test_what_a_trial_leaves_open_is_the_experiments(x64):
    experiment = small_experiment(fedcos(0.3), SCHEDULE, optimizer=client_sgd(0.05))
    swept = sweep(lambda seed: Trial(jax.random.key(seed)), grid(seed=[4]), experiment)
    full = Trial(jax.random.key(4), fedcos(0.3), client_sgd(0.05))
    close(jax.tree.map(lambda leaf: leaf[0], swept), run_alone(full))


def test_partitions_and_methods_of_one_structure(x64):
    """Two ownerships of equal shape, and two methods in the form that all rows of a table share."""
    first, second = gaussian_data((4, 7, 6, 9)), gaussian_data((6, 6, 7, 7))
    owners = [(first.indices, first.offsets), (second.indices, second.offsets)]
    labels = ["FedAvg", "FedOpt(1.5)+FedCos(0.2)"]

    def trial(label, owner):
        return Trial(jax.random.key(0), parse(label).in_paper_form(), client_sgd(0.1), *owners[owner])

    points = grid(label=labels, owner=[0, 1])
    swept = sweep(trial, points, small_experiment(schedule=SCHEDULE, data=first), batch=2)
    for i, point in enumerate(points):
        indices, offsets = owners[point["owner"]]
        owned = first._replace(indices=indices, offsets=offsets)
        alone = run_alone(Trial(jax.random.key(0), parse(point["label"]).build(), client_sgd(0.1)), data=owned)
        close(jax.tree.map(lambda leaf, i=i: leaf[i], swept), alone)


def test_every_trial_has_its_own_cohorts(x64):
    data = gaussian_data()
    cohorts = [np.array([[0, 1], [2, 3], [0, 2]], np.int32), np.array([[3, 1], [1, 0], [2, 1]], np.int32)]
    experiment = small_experiment(schedule=SCHEDULE, data=data._replace(cohorts=jax.numpy.asarray(cohorts[0])))
    swept = sweep(lambda own: Trial(jax.random.key(0), cohorts=cohorts[own]), grid(own=[0, 1]), experiment)
    for i, own in enumerate(cohorts):
        alone = run_alone(Trial(jax.random.key(0)), data=data._replace(cohorts=jax.numpy.asarray(own)))
        close(jax.tree.map(lambda leaf, i=i: leaf[i], swept), alone)


def test_new_values_compile_nothing():
    sweep(trial, grid(strength=[0.1, 0.2], lr=[0.1], seed=[0]), EXPERIMENT, batch=2)
    before = compiled_programs()
    sweep(trial, grid(strength=[0.3, 0.7], lr=[0.2], seed=[5]), EXPERIMENT, batch=2)
    assert compiled_programs() == before


def test_mistakes():
    def mixed(kind):
        return Trial(jax.random.key(0), [fedavg(), fedcos(0.1)][kind], client_sgd(0.1))

    with pytest.raises(InputError, match="share one structure"):
        sweep(mixed, grid(kind=[0, 1]), EXPERIMENT)
    with pytest.raises(InputError, match="at least one point"):
        sweep(mixed, [], EXPERIMENT)
    with pytest.raises(InputError, match="differ in the shapes"):
        sweep(lambda offsets: Trial(jax.random.key(0), offsets=np.arange(offsets)), grid(offsets=[3, 4]), EXPERIMENT)
