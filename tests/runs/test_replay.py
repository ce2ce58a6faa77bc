"""The authors' draws: theirs number by number, whole partitions, and cohorts that a run really has."""

import dataclasses

import chex
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedcos_jax as fc
from fedcos_jax import models
from fedcos_jax.data import partition
from fedcos_jax.errors import InputError
from fedcos_jax.runs import replay
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.prepare import prepare
from fedcos_jax.runs.result import history_lists
from fedcos_jax.runs.together import run_together

CONFIG = Config(partition="shards2", clients=10, fraction=0.3, rounds=4, local_steps=2, batch_size=8, replay=111)
TORCH_WEIGHTS = {
    "Conv_0 kernel 0 0 0 0": -0.05586445704102516,
    "Conv_0 kernel 4 3 2 5": 0.07710745185613632,
    "Conv_1 bias 15": 0.02157154679298401,
    "Dense_0 kernel 0 0": 0.00450627226382494,
    "Dense_0 kernel 17 3": -0.03082098998129368,
    "Dense_0 kernel 399 119": 0.04752263426780701,
    "Dense_2 kernel 1 2": -0.04643241688609123,
    "Dense_2 bias 9": -0.08950583636760712,
}
"""Layer, parameter and place -> what PyTorch 2.13 gives there."""


def test_the_draws_of_the_papers_scene():
    """100 clients with two of 200 shards each, then ten of them a round: numbers written down once."""
    generator = replay.generator(111)
    hands = replay.hands(generator, 100, 2)
    cohorts = replay.cohorts(generator, 100, 10, 250)
    assert [sorted(hand) for hand in hands[[0, 1, -2, -1]].tolist()] == [[79, 129], [109, 138], [67, 180], [35, 188]]
    assert cohorts[0].tolist() == [19, 36, 15, 17, 82, 55, 92, 61, 34, 64]
    assert cohorts[-1].tolist() == [70, 76, 0, 66, 56, 67, 15, 39, 2, 87]


def test_the_draws_are_those_of_a_seeded_numpy():
    """After the hands the generator is where a program is that drew one hand after another."""
    numpy = np.random.RandomState(5)
    for left in range(30, 0, -3):
        numpy.permutation(left)
    expected = [numpy.permutation(10)[:4].tolist() for _ in range(6)]
    generator = replay.generator(5)
    replay.hands(generator, 10, 3)
    assert replay.cohorts(generator, 10, 4, 6).tolist() == expected


@given(seed=st.integers(0, 2**32 - 1), clients=st.integers(1, 60), per_client=st.integers(1, 4))
@settings(deadline=None, max_examples=50)
def test_every_shard_is_dealt_once(seed, clients, per_client):
    hands = replay.hands(replay.generator(seed), clients, per_client)
    assert hands.shape == (clients, per_client)
    assert sorted(hands.ravel().tolist()) == list(range(clients * per_client))


def test_clients_own_the_rows_of_their_shards():
    labels = np.repeat(np.arange(10), 20)[np.random.default_rng(0).permutation(200)]
    hands = replay.hands(replay.generator(3), 10, 2)
    owned = replay.ownership(replay.generator(3), "shards2", labels, 10)
    for hand, rows in zip(hands, owned.parts(), strict=True):
        assert sorted(labels[rows]) == sorted(np.repeat(hand // 2, 10))  # two shards of ten rows a class


def test_longer_runs_begin_alike_and_everyone_is_no_draw():
    short, long = (replay.cohorts(replay.generator(1), 20, 5, rounds) for rounds in (3, 9))
    assert np.array_equal(short, long[:3])
    assert replay.cohorts(replay.generator(1), 20, 20, 3) is None


def test_partitions_without_draws_stay_as_they_are():
    labels = np.arange(30) % 3
    own = replay.ownership(replay.generator(1), "sorted", labels, 5)
    assert np.array_equal(own.indices, partition.build("sorted", labels, 5, 0).indices)
    with pytest.raises(InputError, match=r"only shards2, sorted, natural can be drawn .* got partition 'iid'"):
        replay.ownership(replay.generator(1), "iid", labels, 5)
    with pytest.raises(InputError, match=r"below 2\*\*32, got -1"):
        replay.generator(-1)


def test_initial_parameters_are_those_of_pytorch():
    """torch.manual_seed(111), three draws for the crop and flip of an image, then the layers of the CNN in order."""
    model = models.build("cnn", (32, 32, 3), 10)
    start = replay.started(model, 111, replay.WORDS_BEFORE["cifar10"])
    params = start.init(jax.random.key(0))
    chex.assert_trees_all_equal_shapes_and_dtypes(params, model.init(jax.random.key(0)))
    for name, number in TORCH_WEIGHTS.items():
        layer, kind, *place = name.split()
        assert float(params[layer][kind][tuple(map(int, place))]) == pytest.approx(number, abs=1e-8)
    assert replay.started(model, 111, 3) is start


def test_initial_parameters_have_pytorchs_range():
    model = models.build("mlp", (28, 28), 10)
    params = replay.started(model, 4).init(jax.random.key(0))
    for layer, fan_in in (("Dense_0", 784), ("Dense_1", 200)):
        for values in params[layer].values():
            assert float(abs(values).max()) <= fan_in**-0.5
            assert float(values.std()) == pytest.approx((3 * fan_in) ** -0.5, rel=0.3)
    assert not np.array_equal(params["Dense_0"]["kernel"], replay.started(model, 5).init(None)["Dense_0"]["kernel"])
    with pytest.raises(InputError, match="model of convolutions and dense layers, not one with Embed_0"):
        replay.started(models.build("lstm", (80,), 80), 111)


def test_a_run_has_the_cohorts_whatever_its_seed():
    def drawn(**changes):
        return prepare(dataclasses.replace(CONFIG, **changes)).experiment.data.cohorts

    assert drawn().shape == (4, 3)
    assert np.array_equal(drawn(), drawn(seed=1))
    assert drawn(replay=None) is None
    _, experiment = prepare(CONFIG)
    state, _ = fc.run(jax.random.key(0), experiment)
    start = experiment.model.init(jax.random.key(0))
    chex.assert_trees_all_equal(start, experiment.model.init(jax.random.key(1)))
    turns = np.bincount(np.asarray(drawn()).ravel(), minlength=10)
    assert state.steps_taken.tolist() == (turns * CONFIG.local_steps).tolist()


@pytest.mark.parametrize(
    "changes",
    [
        [{"method": "FedAvg"}, {"method": "FedCos(0.1)"}],
        [{"partition": "sorted"}, {"partition": "shards2"}],
    ],
    ids=["methods", "partitions, each with cohorts of its own"],
)
def test_a_sweep_replays_as_single_runs_do(changes):
    configs = [dataclasses.replace(CONFIG, **change) for change in changes]
    finished = [one for batch in run_together(configs, Config.load, 2) for one in batch]
    assert [one.config for one in finished] == configs
    for one in finished:
        alone = execute(prepare(one.config))["history"]
        together = history_lists(one.history)
        assert together["accuracy"] == pytest.approx(alone["accuracy"], abs=0.6)
        np.testing.assert_allclose(together["train_loss"], alone["train_loss"], rtol=1e-4)
