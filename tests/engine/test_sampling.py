"""Cohorts and epochs: exact properties of the keyed permutation and what is built on it."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.engine import sampling

MOST = 300
seeds = st.integers(0, 2**31 - 1)


@jax.jit
def first_positions(seed, n):
    """The permutation of 0..n-1 at positions 0..MOST-1; only those below n mean anything."""
    return sampling.permuted(jax.random.key(seed), n, jnp.minimum(jnp.arange(MOST), n - 1))


@given(seed=seeds, n=st.integers(1, MOST))
@settings(deadline=None, max_examples=100)
def test_permuted_is_a_permutation(seed, n):
    values = np.asarray(first_positions(seed, n))[:n]
    assert sorted(values) == list(range(n))


def test_nothing_to_permute_comes_to_an_end():
    assert sampling.permuted(jax.random.key(0), 0, jnp.array([0])).tolist() == [0]


@pytest.mark.parametrize("n", [60_000, 65_536, 65_537, 99_991, 2**20 + 7])
def test_permuted_is_a_permutation_of_large_ranges(n):
    values = np.asarray(jax.jit(sampling.permuted)(jax.random.key(1), n, jnp.arange(n)))
    assert np.array_equal(np.sort(values), np.arange(n))


@given(seed=seeds, n=st.integers(2**20, 2**31 - 1))
@settings(deadline=None, max_examples=50)
def test_permuted_stays_in_huge_ranges_without_repeats(seed, n):
    values = np.asarray(first_positions(seed, n))
    assert values.min() >= 0
    assert values.max() < n
    assert len(set(values.tolist())) == MOST


@pytest.mark.parametrize(("n", "orders"), [(3, 6), (4, 24), (5, 120)])
def test_every_order_is_equally_likely(n, orders):
    draws = 24_000
    keys = jax.random.split(jax.random.key(0), draws)
    values = np.asarray(jax.jit(jax.vmap(lambda key: sampling.permuted(key, n, jnp.arange(n))))(keys))
    counts = Counter(map(tuple, values.tolist()))
    expected = draws / orders
    chi_squared = sum((counts[order] - expected) ** 2 / expected for order in counts)
    degrees = orders - 1
    assert len(counts) == orders
    assert chi_squared < degrees + 4 * (2 * degrees) ** 0.5


@jax.jit
def epoch_of_batches(seed, rows, first_step):
    """Sixty consecutive batches of five."""
    key = jax.random.key(seed)
    return jax.vmap(lambda i: sampling.epoch_batch(key, rows, first_step + i, 5))(jnp.arange(60))


@given(seed=seeds, rows=st.integers(1, 60), start_epoch=st.integers(0, 1000))
@settings(deadline=None, max_examples=100)
def test_each_epoch_has_each_row_once(seed, rows, start_epoch):
    steps = -(-rows // 5)
    positions, mask = map(np.asarray, epoch_of_batches(seed, rows, start_epoch * steps))
    epochs = [positions[i : i + steps][mask[i : i + steps]] for i in range(0, 60 - steps + 1, steps)]
    assert all(sorted(epoch) == list(range(rows)) for epoch in epochs)
    sizes = mask.sum(1)[:steps]
    assert (sizes[:-1] == 5).all()
    assert sizes[-1] == (rows - 1) % 5 + 1


def test_epochs_differ():
    positions, mask = map(np.asarray, epoch_of_batches(0, 50, 0))
    assert mask.all()
    orders = {tuple(positions[i : i + 10].ravel().tolist()) for i in range(0, 60, 10)}
    assert len(orders) == 6


def test_whole_population_in_order():
    assert sampling.cohort(jax.random.key(0), 6, 6).tolist() == list(range(6))


def test_cohorts_are_drawn_without_replacement_and_evenly():
    draw = jax.jit(jax.vmap(lambda key: sampling.cohort(key, 10, 3)))
    cohorts = np.asarray(draw(jax.random.split(jax.random.key(0), 10_000)))
    assert all(len(set(cohort)) == 3 for cohort in cohorts.tolist())
    counts = np.bincount(cohorts.ravel(), minlength=10)
    # Each client is in a cohort with probability 0.3; deviations are below five standard deviations.
    assert np.abs(counts - 3000).max() < 5 * (10_000 * 0.3 * 0.7) ** 0.5
