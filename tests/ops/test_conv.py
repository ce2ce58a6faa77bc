"""Convolution and pooling equal flax's, in value and gradient, at every shape and on every platform."""

import flax.linen as nn
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.ops.conv import Conv, conv_pool, max_pool, window_conv
from tests.ops.comparison import assert_equal_forms

shapes = st.fixed_dictionaries(
    {
        "size": st.tuples(st.integers(7, 13), st.integers(7, 13)),
        "kernel": st.tuples(st.integers(1, 5), st.integers(1, 5)),
        "strides": st.sampled_from([(1, 1), (2, 2), (1, 2), (3, 1)]),
        "channels": st.tuples(st.integers(1, 3), st.integers(1, 4)),
        "pool": st.sampled_from([1, 2, 3]),
        "padding": st.sampled_from(["VALID", "SAME", ((1, 2), (0, 1))]),
    }
)


@given(shape=shapes, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=15)
def test_any_shape(shape, seed):
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.normal(size=(2, *shape["size"], shape["channels"][0])).astype(np.float32))
    kernel = jnp.asarray(rng.normal(size=(*shape["kernel"], *shape["channels"])).astype(np.float32))
    options = {name: shape[name] for name in ("strides", "padding", "pool")}
    if jax.eval_shape(lambda x, k: window_conv(x, k, **options), x, kernel).size:
        assert_equal_forms(
            lambda x, k: conv_pool(x, k, **options), lambda x, k: window_conv(x, k, **options), x, kernel
        )


def test_ties_in_a_window_are_settled_alike():
    """Flat regions, as in the background of a picture, tie; the gradient must go to one place, the same one."""
    x = jnp.zeros((1, 8, 8, 1)).at[0, 3:5, 3:5].set(1.0)
    kernel = jnp.asarray(np.random.default_rng(0).normal(size=(3, 3, 1, 2)).astype(np.float32))
    options = {"strides": (1, 1), "padding": "VALID", "pool": 2}
    assert_equal_forms(lambda x, k: conv_pool(x, k, **options), lambda x, k: window_conv(x, k, **options), x, kernel)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_layer_is_a_drop_in(padding):
    x = jax.random.normal(jax.random.key(0), (2, 10, 10, 3))
    ours = Conv(4, (3, 3), strides=(2, 2), padding=padding)
    theirs = nn.Conv(4, (3, 3), strides=(2, 2), padding=padding)
    params = theirs.init(jax.random.key(1), x)
    assert jax.tree.map(jnp.shape, ours.init(jax.random.key(1), x)) == jax.tree.map(jnp.shape, params)
    np.testing.assert_allclose(ours.apply(params, x), theirs.apply(params, x), atol=1e-5)


def test_pooled_layer_is_layer_then_pool():
    x = jax.random.normal(jax.random.key(0), (2, 10, 10, 3))
    params = {"params": {"kernel": jax.random.normal(jax.random.key(1), (3, 3, 3, 4)), "bias": jnp.arange(4.0)}}
    pooled = Conv(4, (3, 3), pool=2).apply(params, x)
    np.testing.assert_allclose(pooled, max_pool(Conv(4, (3, 3)).apply(params, x), 2), atol=1e-5)


def test_vmapped_over_clients_equals_a_loop():
    x = jax.random.normal(jax.random.key(0), (3, 2, 9, 9, 2))
    kernels = jax.random.normal(jax.random.key(1), (3, 3, 3, 2, 4))

    def gradient(x, kernel):
        loss = lambda kernel: jnp.sum(jnp.sin(conv_pool(x, kernel, strides=(1, 1), padding="SAME", pool=2)))  # noqa: E731
        return jax.grad(loss)(kernel)

    together = jax.vmap(gradient)(x, kernels)
    for i in range(3):
        np.testing.assert_allclose(together[i], gradient(x[i], kernels[i]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("platform", "has_convolution"), [("cpu", False), ("tpu", True), ("cuda", True)])
def test_platforms_choose_their_form(platform, has_convolution):
    def gradient(x, kernel):
        return jax.grad(lambda k: jnp.sum(conv_pool(x, k, strides=(1, 1), padding="VALID", pool=2)))(kernel)

    shapes = jax.ShapeDtypeStruct((2, 12, 12, 3), jnp.float32), jax.ShapeDtypeStruct((5, 5, 3, 6), jnp.float32)
    program = jax.export.export(jax.jit(gradient), platforms=[platform])(*shapes).mlir_module()
    assert ("stablehlo.convolution" in program) == has_convolution
