"""What a round of unequal clients does beside its real steps: counted, not timed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import scaling
from fedcos_jax.engine import chunks
from fedcos_jax.engine import devices


@pytest.mark.parametrize(
    ("clients", "chunk", "devices", "exchange"),
    [(100, 16, 2, False), (1_000, 256, 1, False), (1_000, 16, 8, False), (100, 1, 8, True), (10_000, 256, 8, True)],
)
def test_power_law_clients_waste_little(clients, chunk, devices, exchange):
    row = scaling.waste(clients, chunk, devices, exchange)
    assert 1 <= row["steps_taken"] <= row["devices_times_busiest"] <= scaling.WASTE
    assert row["padded_to_the_longest"] > 10


@pytest.mark.parametrize("exchange", [False, True])
def test_equal_clients_wait_for_nobody(exchange):
    assert scaling.work_done(np.full(64, 7), chunk=16, devices=2, exchange=exchange) == (64 * 7, 32 * 7)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1_000), min_size=12, max_size=12))
def test_every_client_with_steps_is_in_one_chunk_and_waits_within_tolerance(num_steps):
    falling = -jnp.sort(-jnp.array(num_steps))
    clients = jnp.arange(12)

    def count(times, steps, clients):
        return times.at[clients].add(clients >= 0), steps.shape[0] * jnp.max(steps)

    over = jax.jit(lambda start, *rows: chunks.over_unequal_chunks(count, 5, rows[0], start, rows, (0, -1)))
    times, taken = over(jnp.zeros(12, jnp.int32), falling, clients)
    done = np.asarray(falling) > 0
    # A chunk may take clients without steps along; they are not trained.
    np.testing.assert_array_equal(np.asarray(times)[done], 1)
    assert sum(num_steps) <= int(taken) <= chunks.TOLERANCE * sum(num_steps)


def test_the_longest_work_goes_to_the_least_loaded():
    owners = devices.least_loaded(jnp.array([10, 4, 4, 3, 1]), 2)
    assert owners.tolist() == [0, 1, 1, 1, 0]


def test_a_hand_that_is_full_takes_no_more():
    assert devices.least_loaded(jnp.array([10, 1, 1, 1, 1]), 2, most=3).tolist() == [0, 1, 1, 1, 0]
