"""How clients are dealt out to devices: all of them once, in even shares or with even work."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.engine import devices
from fedcos_jax.engine.devices import Placement


def shares_of(count, *rows, padding, work=None, most=None):
    """`Placement.share` on each of `count` devices: arrays [devices, share]. A `vmap` stands for the devices."""
    return _shares(rows, work, count, padding, most)


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _shares(rows, work, count, padding, most):
    placement = Placement(tuple(jax.devices()[:1] * count))

    def share(_):
        return placement.share(rows, padding, work, most)

    return jax.vmap(share, axis_name=devices.AXIS)(jnp.arange(count))


least_loaded = jax.jit(devices.least_loaded, static_argnames=("hands", "most"))


def test_neighbours_are_dealt_to_different_hands():
    assert devices.deal(jnp.arange(1, 8), 3).tolist() == [[1, 4, 7], [2, 5, 0], [3, 6, 0]]
    assert devices.deal(jnp.arange(2), 3, padding=-1).tolist() == [[0], [1], [-1]]


def test_the_longest_work_goes_to_the_least_loaded():
    assert least_loaded(jnp.array([10, 4, 4, 3, 1]), 2).tolist() == [0, 1, 1, 1, 0]


def test_a_hand_that_is_full_takes_no_more():
    assert least_loaded(jnp.array([10, 1, 1, 1, 1]), 2, most=3).tolist() == [0, 1, 1, 1, 0]


works = st.lists(st.integers(0, 100), min_size=9, max_size=9).map(lambda work: sorted(work, reverse=True))


@settings(max_examples=30, deadline=None)
@given(works)
def test_the_busiest_hand_keeps_to_the_bound(work):
    """Graham: the work that starts last goes to the least loaded hand, so no hand is above the mean by more than it."""
    loads = np.bincount(least_loaded(jnp.array(work), 3), weights=work, minlength=3)
    assert loads.sum() == sum(work)
    assert loads.max() <= sum(work) / 3 + max(work)
    assert loads.max() - loads.min() <= max(work)


def test_a_share_has_its_own_rows_first_and_then_padding():
    mine = jnp.array([False, True, False, True, True])
    rows, padding = (jnp.arange(5), jnp.arange(10, 15)), (-1, 0)
    whole = devices.share_of_work(rows, padding, mine)
    assert [array.tolist() for array in whole] == [[1, 3, 4, -1, -1], [11, 13, 14, 0, 0]]
    cut = devices.share_of_work(rows, padding, mine, most=3)
    assert [array.tolist() for array in cut] == [[1, 3, 4], [11, 13, 14]]


def test_one_device_has_all_rows_as_they_are():
    rows = (jnp.arange(5), jnp.ones(5))
    assert devices.available(1).share(rows, (0, 0), work=jnp.arange(5)) is rows


def test_equal_clients_are_dealt_like_cards():
    ids, steps = shares_of(3, jnp.arange(5), jnp.arange(5) + 10, padding=(-1, 0))
    assert ids.tolist() == [[0, 3], [1, 4], [2, -1]]
    assert steps.tolist() == [[10, 13], [11, 14], [12, 0]]


def test_unequal_clients_go_to_the_device_with_the_least_work():
    work = jnp.array([10, 4, 4, 3, 1])
    ids, steps = shares_of(2, jnp.arange(5), work, padding=(-1, 0), work=work)
    assert ids.tolist() == [[0, 4, -1, -1, -1], [1, 2, 3, -1, -1]]
    assert steps.sum(axis=1).tolist() == [11, 11]


@settings(max_examples=30, deadline=None)
@given(works, st.sampled_from([None, 5, 9]))
def test_every_client_is_in_one_share(work, most):
    (ids,) = shares_of(2, jnp.arange(9), padding=(-1,), work=jnp.array(work), most=most)
    assert ids.shape == (2, most or 9)
    assert sorted(ids[ids >= 0].tolist()) == list(range(9))


@pytest.mark.parametrize(("rows", "count", "even"), [(4, 2, 4), (5, 2, 6), (1, 4, 4), (5, 1, 5)])
def test_rows_are_rounded_up_to_an_even_division(rows, count, even):
    assert Placement(tuple(jax.devices()[:1] * count)).even_rows(rows) == even
