"""A device's clients in chunks: every client is trained once, and no chunk waits long."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.engine import chunks


def count_visits(visits, values, clients):
    """(visits [clients], slices) -> (visits with this slice counted, sums of the values and of the slices)."""
    return visits.at[clients].add(1), {"values": values.sum(), "slices": jnp.int32(1)}


@pytest.mark.parametrize(("chunk", "slices"), [(1, 7), (2, 4), (3, 3), (6, 2), (7, 1)])
def test_equal_clients_are_cut_into_equal_chunks_and_the_rest(chunk, slices):
    rows = jnp.arange(10.0, 17.0), jnp.arange(7)
    visits, sums = chunks.over_chunks(count_visits, chunk, jnp.zeros(7, jnp.int32), rows)
    assert visits.tolist() == [1] * 7
    assert float(sums["values"]) == sum(range(10, 17))
    assert int(sums["slices"]) == slices


def test_the_carry_goes_from_chunk_to_chunk_in_order():
    def digits(number, rows):
        for row in rows:
            number = 10 * number + row
        return number, ()

    number, _ = chunks.over_chunks(digits, 2, jnp.int32(0), (jnp.arange(1, 6),))
    assert int(number) == 12345


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1_000), min_size=12, max_size=12))
def test_every_client_with_steps_is_in_one_chunk_and_waits_within_tolerance(num_steps):
    times, taken = in_unequal_chunks(jnp.array(num_steps))
    done = np.sort(num_steps)[::-1] > 0
    # A chunk may contain clients without steps. They are not trained.
    np.testing.assert_array_equal(np.asarray(times)[done], 1)
    assert sum(num_steps) <= int(taken) <= chunks.TOLERANCE * sum(num_steps)


@jax.jit
def in_unequal_chunks(num_steps):
    """How often each of 12 clients is in a chunk of at most 5, and the steps that all chunks take, waiting included."""

    def count(times, steps, clients):
        return times.at[clients].add((clients >= 0).astype(jnp.int32)), steps.shape[0] * jnp.max(steps)

    rows = -jnp.sort(-num_steps), jnp.arange(12)
    return chunks.over_unequal_chunks(count, 5, rows[0], jnp.zeros(12, jnp.int32), rows, (0, -1))


def test_a_cohort_without_steps_has_no_chunks():
    times, taken = in_unequal_chunks(jnp.zeros(12, jnp.int32))
    assert not times.any()
    assert int(taken) == 0


def test_padding_has_the_value_of_each_array():
    padded = chunks.pad((jnp.array([1, 2]), jnp.array([3, 4])), 2, (0, -1))
    assert [array.tolist() for array in padded] == [[1, 2, 0, 0], [3, 4, -1, -1]]
