"""Shared layers: group normalisation, PyTorch's initialisation, and shapes."""

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax.ops.layers import GroupNorm, conv, dense, flat, torch_uniform, with_channels
from tests.ops.comparison import quick_jit

KEY = jax.random.key(0)


@pytest.mark.parametrize("groups", [1, 4, 12])
def test_group_norm_is_flax_s(groups):
    """The same parameters, values and gradients."""
    x = jax.random.normal(KEY, (3, 5, 6, 12)) * jnp.arange(1, 13.0).reshape(1, 1, 1, 12) + 2
    ours, theirs = GroupNorm(groups, epsilon=1e-3), nn.GroupNorm(groups, epsilon=1e-3)
    params = jax.tree.map(lambda leaf: jax.random.normal(KEY, leaf.shape), theirs.init(KEY, x))
    assert jax.tree.map(jnp.shape, ours.init(KEY, x)) == jax.tree.map(jnp.shape, params)

    def value_and_gradients(layer):
        def generic(params, x):
            y = layer.apply(params, x)
            return jnp.sum(jnp.sin(y)), y

        return quick_jit(jax.value_and_grad(generic, argnums=(0, 1), has_aux=True))(params, x)

    chex.assert_trees_all_close(value_and_gradients(ours), value_and_gradients(theirs), atol=1e-4)


@pytest.mark.parametrize(
    ("layer", "shape", "fan_in"), [(dense(50, 100), (2, 100), 100), (conv(40, 3, 10), (2, 5, 5, 10), 90)]
)
def test_weights_and_biases_fill_pytorchs_bounds(layer, shape, fan_in):
    bound = fan_in**-0.5
    for leaf in jax.tree.leaves(layer.init(KEY, jnp.zeros(shape))):
        assert 0.8 * bound < np.abs(leaf).max() <= bound
        assert leaf.std() == pytest.approx(bound / 3**0.5, rel=0.3)


@pytest.mark.usefixtures("x64")
def test_initial_weights_have_the_dtype_that_is_asked_for():
    assert torch_uniform(4)(KEY, (3,), jnp.float64).dtype == jnp.float64
    assert torch_uniform(4)(KEY, (3,)).dtype == jnp.float32


@pytest.mark.parametrize(
    ("options", "shape"), [({}, (2, 6, 6, 4)), ({"padding": 1, "stride": 2, "pool": 2}, (2, 2, 2, 4))]
)
def test_convolutions_are_square(options, shape):
    layer = conv(4, 3, 5, **options)
    x = jnp.zeros((2, 8, 8, 5))
    assert jax.eval_shape(lambda: layer.init_with_output(KEY, x)[0]).shape == shape


def test_shapes_of_images():
    assert with_channels(jnp.zeros((2, 3, 4))).shape == (2, 3, 4, 1)
    assert with_channels(jnp.zeros((2, 3, 4, 5))).shape == (2, 3, 4, 5)
    assert flat(jnp.zeros((2, 3, 4))).shape == (2, 12)
    assert flat(jnp.zeros((0, 3, 4))).shape == (0, 12)
