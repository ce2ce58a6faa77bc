"""Layers of flax in their fast form: same values and gradients, and flax itself for everything else."""

from collections import Counter

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.linen import pooling

from fedcos_jax.models.fast_layers import batch_statistics, fast_layers

KEY = jax.random.key(0)
IMAGES = jax.random.normal(KEY, (2, 9, 8, 4))
TEXT = jax.random.normal(KEY, (3, 7, 5))


class Pool(nn.Module):
    """A pooling function after a layer with parameters."""

    kind: str
    window: tuple[int, int] = (2, 2)
    strides: tuple[int, int] | None = (2, 2)
    padding: str = "VALID"

    @nn.compact
    def __call__(self, x):
        with jax.numpy_dtype_promotion("standard"):  # flax divides by a whole number of NumPy
            return self.pooled(nn.Dense(3)(x))

    def pooled(self, x):
        return getattr(nn, self.kind)(x, self.window, self.strides, self.padding)


class Cells(nn.Module):
    """An RNN made the usual way, within another module."""

    cell: type = nn.LSTMCell
    reverse: bool = False
    keep_order: bool = False
    time_major: bool = False

    @nn.compact
    def __call__(self, x):
        cell = self.cell(6, name="cell")
        return nn.RNN(cell, reverse=self.reverse, keep_order=self.keep_order, time_major=self.time_major)(x)


def outcome(module, params, x):
    """The values, and the gradients of a generic function of them."""

    def objective(params, x):
        y = module.apply(params, x)
        return jnp.sum(jnp.ravel(jnp.sin(y)) * jnp.cos(jnp.arange(y.size, dtype=y.dtype))), y

    (_, y), gradients = jax.value_and_grad(objective, argnums=(0, 1), has_aux=True)(params, x)
    return jax.tree.leaves((y, gradients))


def both(module, x):
    """What flax gives, what the fast form gives, and the layers that it replaced."""
    params, replaced = module.init(KEY, x), Counter()
    theirs = outcome(module, params, x)
    with fast_layers(Counter()):
        again = module.init(KEY, x)
    with fast_layers(replaced):
        ours = outcome(module, params, x)
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, again)
    return ours, theirs, replaced


FAST = {
    "plain": (nn.Conv(3, (3, 3)), IMAGES),
    "valid, strided, no bias": (nn.Conv(3, (3, 2), strides=(2, 1), padding="VALID", use_bias=False), IMAGES),
    "one stride, padding by number": (nn.Conv(5, (3, 3), strides=2, padding=1), IMAGES),
    "padding by side": (nn.Conv(2, (1, 3), padding=((0, 1), (2, 0))), IMAGES),
    "groups": (nn.GroupNorm(2), IMAGES),
    "size of groups": (nn.GroupNorm(None, group_size=1, epsilon=1e-3), IMAGES),
    "lstm": (Cells(), TEXT),
    "optimized lstm": (Cells(nn.OptimizedLSTMCell), TEXT),
    "backwards": (Cells(reverse=True), TEXT),
    "backwards, in order": (Cells(reverse=True, keep_order=True), TEXT),
    "steps first": (Cells(time_major=True), TEXT),
    "maximum": (Pool("max_pool"), IMAGES),
    "mean": (Pool("avg_pool", (3, 2), (3, 2)), IMAGES),
}


@pytest.mark.parametrize("case", FAST)
def test_values_and_gradients_are_those_of_flax(case):
    ours, theirs, replaced = both(*FAST[case])
    assert sum(replaced.values()) == 1
    for got, expected in zip(ours, theirs, strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * float(jnp.abs(expected).max()))


FLAX = {
    "groups of channels": (nn.Conv(4, (3, 3), feature_group_count=2), IMAGES),
    "dilation": (nn.Conv(3, (3, 3), kernel_dilation=2), IMAGES),
    "circular": (nn.Conv(3, (3, 3), padding="CIRCULAR"), IMAGES),
    "one axis": (nn.Conv(3, (3,)), TEXT),
    "one axis, size as a number": (nn.Conv(3, 3), TEXT),
    "mask": (nn.Conv(3, (3, 3), mask=jnp.ones((3, 3, 4, 3))), IMAGES),
    "half precision": (nn.Conv(3, (3, 3), dtype=jnp.bfloat16), IMAGES),
    "precision": (nn.Conv(3, (3, 3), precision="highest"), IMAGES),
    "no scale": (nn.GroupNorm(2, use_scale=False), IMAGES),
    "no images": (nn.GroupNorm(5), TEXT),
    "gated unit": (Cells(nn.GRUCell), TEXT),
    "another gate": (nn.RNN(nn.LSTMCell(4, gate_fn=nn.hard_sigmoid)), TEXT),
    "overlapping windows": (Pool("max_pool", (3, 3), (2, 2)), IMAGES),
    "same": (Pool("max_pool", padding="SAME"), IMAGES),
}


@pytest.mark.parametrize("case", FLAX)
def test_everything_else_goes_to_flax(case):
    ours, theirs, replaced = both(*FLAX[case])
    assert not replaced
    for got, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_state_that_is_given_or_wanted_goes_to_flax():
    rnn = nn.RNN(nn.LSTMCell(6), return_carry=True)
    params, replaced = rnn.init(KEY, TEXT), Counter()
    with fast_layers(replaced):
        carry, states = rnn.apply(params, TEXT)
        rnn.apply(params, TEXT, initial_carry=carry, return_carry=False)
        rnn.apply(params, TEXT, seq_lengths=jnp.array([1, 7, 3]), return_carry=False)
        assert not replaced
        np.testing.assert_allclose(rnn.apply(params, TEXT, return_carry=False), states, rtol=1e-5, atol=1e-6)
    assert replaced == {"RNN": 1}


def test_flax_is_itself_again_afterwards():
    before, replaced = pooling.pool, Counter()
    with pytest.raises(RuntimeError), fast_layers(replaced), fast_layers(Counter()):
        raise RuntimeError
    assert pooling.pool is before
    conv = nn.Conv(3, (3, 3))
    conv.apply(conv.init(KEY, IMAGES), IMAGES)
    assert not replaced


def test_accelerators_keep_the_layers_of_flax():
    for module, x in (FAST["plain"], FAST["groups"], FAST["maximum"]):
        params = module.init(KEY, x)
        with fast_layers(Counter()):
            ours = jax.jit(module.apply).trace(params, x).lower(lowering_platforms=("tpu",)).as_text()
        theirs = jax.jit(module.apply).trace(params, x).lower(lowering_platforms=("tpu",)).as_text()
        for operation in ("convolution", "reduce_window", "reduce("):
            assert ours.count(operation) == theirs.count(operation)


def test_batch_statistics_normalise_each_batch():
    norm = nn.BatchNorm(use_running_average=True)
    x = 3 + 2 * jax.random.normal(KEY, (50, 4))
    params = {"params": norm.init(KEY, x)["params"]}
    with batch_statistics():
        y = norm.apply(params, x)
    x = np.asarray(x, np.float64)
    np.testing.assert_allclose(y, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), atol=1e-4)
