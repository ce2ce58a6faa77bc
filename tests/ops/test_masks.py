"""Random masks: their probability and independence, and the dropout that uses them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax.ops.masks import Dropout, random_mask

KEY = jax.random.key(0)


def test_dropout_keeps_the_mean():
    layer = Dropout(0.3)
    dropped = np.asarray(layer.apply({}, jnp.ones((500, 400)), True, rngs={"dropout": KEY}))
    np.testing.assert_allclose(np.unique(dropped), [0, 1 / 0.7], rtol=1e-6)
    assert dropped.mean() == pytest.approx(1, abs=0.01)
    np.testing.assert_array_equal(layer.apply({}, jnp.ones((3, 3)), False), np.ones((3, 3)))


@pytest.mark.parametrize("probability", [0.0, 0.5, 0.25, 0.75, 0.1, 0.9, 0.3337, 1.0])
def test_masks_have_their_probability_everywhere(probability):
    mask = np.asarray(random_mask(KEY, probability, (1000, 333)))
    assert mask.shape == (1000, 333)
    tolerance = 5 * (probability * (1 - probability) / mask.size) ** 0.5 + 2**-16
    assert mask.mean() == pytest.approx(probability, abs=tolerance)
    columns = np.abs(mask.mean(0) - probability).max()
    assert columns <= 5 * (probability * (1 - probability) / 1000) ** 0.5 + 2**-16


def test_neighbours_in_a_mask_are_independent():
    mask = np.asarray(random_mask(KEY, 0.3, (100_000,))).astype(float)
    for shift in (1, 2, 31, 32, 33):
        assert abs(np.corrcoef(mask[:-shift], mask[shift:])[0, 1]) < 0.02


def test_dropout_of_whole_channels():
    layer = Dropout(0.4, shared_axes=(1, 2))
    dropped = np.asarray(layer.apply({}, jnp.ones((50, 3, 4, 60)), True, rngs={"dropout": KEY}))
    assert (dropped == dropped[:, :1, :1]).all()
    assert (dropped[:, 0, 0] == 0).mean() == pytest.approx(0.4, abs=0.05)
