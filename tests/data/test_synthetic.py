"""The FedProx generator: its moments, its sizes, its clients."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import InputError, federate, load
from fedcos_jax.data.partition import build
from fedcos_jax.data.synthetic import CLASSES, FEATURES, TILE, client_model, generate, power_law_sizes


def test_labels_are_those_of_each_clients_own_model():
    dataset = generate(0.5, 2.0, clients=7, rows=5000, seed=3)
    model_key = jax.random.split(jax.random.key(3), 3)[0]
    models = jax.vmap(partial(client_model, model_key, jnp.array([0.5, 2.0])))(jnp.arange(7))
    x, owner = np.asarray(dataset.train.x), dataset.groups
    scores = np.einsum("rf,rfc->rc", x, np.asarray(models.weights)[owner]) + np.asarray(models.bias)[owner]
    assert (scores.argmax(axis=1) == dataset.train.y).mean() > 0.999  # a few may be ties up to rounding
    for client in range(7):
        own = x[owner == client] - np.asarray(models.center)[client]
        error = np.arange(1, FEATURES + 1) ** -0.6 / np.sqrt(len(own))
        assert (abs(own.mean(axis=0)) < 5 * error).all()


def test_inputs_vary_as_published():
    """Σ_jj = j^-1.2, whatever the client."""
    dataset = generate(0, 0, clients=2, rows=3 * TILE)
    for client in range(2):
        variance = np.asarray(dataset.train.x)[dataset.groups == client].var(axis=0)
        np.testing.assert_allclose(variance, np.arange(1, FEATURES + 1) ** -1.2, rtol=0.25)


def test_alpha_and_beta_are_the_deviations_of_the_clients_means():
    models = jax.vmap(partial(client_model, jax.random.key(0), jnp.array([3.0, 0.5])))(jnp.arange(2000))
    assert models.weights.shape == (2000, FEATURES, CLASSES)
    model_means, input_means = np.asarray(models.weights).mean(axis=(1, 2)), np.asarray(models.center).mean(axis=1)
    np.testing.assert_allclose(model_means.std(), np.sqrt(9 + 1 / 600), rtol=0.05)
    np.testing.assert_allclose(input_means.std(), np.sqrt(0.25 + 1 / FEATURES), rtol=0.05)
    assert np.asarray(models.weights).std(axis=(1, 2)).mean() == pytest.approx(1, rel=0.02)


@settings(deadline=None)
@given(clients=st.integers(1, 300), each=st.integers(4, 200), seed=st.integers(0, 99))
def test_sizes_add_up(clients, each, seed):
    sizes = power_law_sizes(clients, clients * each, np.random.default_rng(seed))
    assert sizes.sum() == clients * each
    assert sizes.min() >= min(50, each // 2)


def test_sizes_follow_a_power_law():
    sizes = power_law_sizes(10_000, None, np.random.default_rng(0))
    logs = np.log(sizes[sizes > 50] - 50)
    assert sizes.min() == 50
    assert np.median(sizes) == pytest.approx(50 + np.exp(4), rel=0.1)
    assert np.sort(sizes)[-1000:].sum() > 0.5 * sizes.sum()
    assert logs.max() > 9


def test_a_client_is_a_group_and_the_same_seed_gives_the_same_data():
    first, again, other = (generate(1, 1, clients=20, rows=2500, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.train.x, again.train.x)
    assert not np.array_equal(first.train.x, other.train.x)
    data = federate(first, build("natural", first.train.y, None, 0, first.groups))
    assert data.num_clients == 20
    assert len(first.train.y) + len(first.test.y) == 2500
    assert isinstance(first.train.x, jax.Array)


def test_a_population_of_100000():
    dataset = generate(0.5, 0.5, clients=100_000, rows=400_000)
    assert len(np.unique(dataset.groups)) == 100_000
    data = federate(dataset, build("natural", dataset.train.y, None, 0, dataset.groups))
    rows = 400_000
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(data)) < rows * (4 * FEATURES + 16) + 2**20
    assert np.bincount(dataset.train.y, minlength=CLASSES).min() > 0


def test_by_name():
    dataset = load("synthetic(0.5,2,12,1000)")
    assert dataset.name == "synthetic(0.5,2,12,1000)"
    assert load("synthetic").name == "synthetic(1,1,30)"
    np.testing.assert_array_equal(dataset.train.x, generate(0.5, 2, 12, 1000).train.x)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("synthetic(-1,1)", "alpha must be at least 0"),
        ("synthetic(1,nan)", "beta must be at least 0"),
        ("synthetic(1,1,0)", "clients must lie in 1..100000"),
        ("synthetic(1,1,100001)", "clients must lie in 1..100000"),
        ("synthetic(1,1,10,39)", "at least 40 rows"),
        ("synthetic(1,1,2.5)", "cannot read the numbers"),
        ("synthetic(1,,3)", "cannot read the numbers"),
        ("synthetic(1,1,1,9,9)", "at most 4 numbers"),
    ],
)
def test_mistakes_are_named(name, complaint):
    with pytest.raises(InputError, match=complaint.replace("..", r"\.\.")):
        load(name)
