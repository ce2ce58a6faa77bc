"""Algebra on parameter trees that has a derivative of its own."""

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import tree


def test_squared_distance_and_its_gradients(x64):
    """Against NumPy, in both arguments, alone and under `vmap`, with so many small leaves that they are joined."""
    rng = np.random.default_rng(0)
    a, b = ({f"leaf {i}": rng.normal(size=(5, 2, i + 1)) for i in range(9)} for _ in range(2))
    differences = jax.tree.map(np.subtract, a, b)
    expected = sum(np.square(leaf).sum(axis=(1, 2)) for leaf in differences.values())
    gradients = jax.tree.map(lambda leaf: 2 * leaf, differences), jax.tree.map(lambda leaf: -2 * leaf, differences)
    of_row = jax.value_and_grad(tree.squared_distance, argnums=(0, 1))
    rows = [of_row(*(tree.row(jax.tree.map(jnp.asarray, side), i) for side in (a, b))) for i in range(5)]
    looped = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    for found in (looped, jax.vmap(of_row)(a, b)):
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-12), found, (expected, gradients))


def test_names_are_paths():
    a = {"Dense_0": {"kernel": 1, "bias": 2}, "list": [3, (4,)]}
    assert tree.named(a) == {"Dense_0.kernel": 1, "Dense_0.bias": 2, "list.0": 3, "list.1.0": 4}


def test_squared_distance_of_equals_has_no_gradient():
    a = {"a": jnp.array([1.0, 2.0]), "b": jnp.array([[3.0]])}
    value, gradient = jax.value_and_grad(tree.squared_distance)(a, a)
    assert value == 0
    assert not any(leaf.any() for leaf in jax.tree.leaves(gradient))
