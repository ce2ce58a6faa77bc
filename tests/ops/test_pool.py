"""Pooling against flax's own, in value and gradient."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax.ops.pool import first_place, window_max, window_places, window_sum


def gradient(pool, x):
    return jax.grad(lambda x: jnp.sum(jnp.sin(pool(x)) * 3))(x)


@pytest.mark.parametrize("shape", [(2, 4, 6, 3), (1, 5, 7, 2), (3, 2, 3, 1)])
@pytest.mark.parametrize("window", [(2, 2), (2, 3), (1, 2)])
def test_pooling_equals_flax(shape, window):
    x = jax.random.normal(jax.random.key(0), shape)
    for ours, theirs in (
        (lambda x: window_max(x, window), lambda x: nn.max_pool(x, window, window)),
        (lambda x: window_sum(x, window), lambda x: nn.pool(x, 0.0, jax.lax.add, window, window, "VALID")),
    ):
        np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-6)
        np.testing.assert_allclose(gradient(ours, x), gradient(theirs, x), rtol=1e-5, atol=1e-6)


def test_the_gradient_of_equal_maxima_goes_where_flax_sends_it():
    x = jax.random.randint(jax.random.key(1), (2, 6, 6, 4), 0, 2).astype(jnp.float32)
    theirs = gradient(lambda x: nn.max_pool(x, (2, 2), (2, 2)), x)
    np.testing.assert_array_equal(gradient(lambda x: window_max(x, (2, 2)), x), theirs)


def test_places_go_along_the_rows_of_a_window():
    x = jnp.arange(16.0).reshape(1, 4, 4, 1)
    assert [place[0, 0, 0, 0] for place in window_places(x, (2, 2))] == [0, 1, 4, 5]


def test_the_first_of_equal_places_wins():
    places = [jnp.array([1.0, 0.0, 2.0]), jnp.array([1.0, 3.0, 2.0]), jnp.array([0.0, 3.0, 2.0])]
    assert first_place(places, jnp.maximum(places[0], jnp.maximum(*places[1:]))).tolist() == [0, 1, 0]
