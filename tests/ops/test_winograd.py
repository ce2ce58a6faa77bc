"""Winograd's convolution equals XLA's, in value and gradient, at every shape. Its transforms are exact."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.ops import winograd
from fedcos_jax.ops.conv import conv_pool, window_conv
from tests.ops.comparison import assert_equal_forms, value_and_gradients

SAME = ((1, 1), (1, 1))


def random_layer(seed, batch, size, channels):
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.normal(size=(batch, *size, channels[0])).astype(np.float32))
    kernel = rng.normal(size=(3, 3, *channels)) / (9 * channels[0]) ** 0.5
    return x, jnp.asarray(kernel.astype(np.float32))


def direct(padding):
    """XLA's convolution of padded inputs. On CPUs XLA's own padding of 3 or more gives a wrong input gradient."""

    def convolve(x, kernel):
        padded = jnp.pad(x, ((0, 0), *padding, (0, 0)))
        return window_conv(padded, kernel, strides=(1, 1), padding="VALID", pool=1)

    return convolve


@pytest.mark.parametrize("transform", [winograd.TWO, winograd.FOUR])
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_transforms_of_one_axis_are_exact(transform, data):
    """In rational numbers: y[i] = k[0]·d[i] + k[1]·d[i + 1] + k[2]·d[i + 2]."""
    numbers = st.fractions(-5, 5, max_denominator=7)
    side = transform.step + 2
    inputs, taps = data.draw(st.lists(numbers, min_size=side, max_size=side)), data.draw(st.tuples(*[numbers] * 3))

    def times(matrix, vector):
        return [sum(Fraction(w).limit_denominator(24) * v for w, v in zip(row, vector, strict=True)) for row in matrix]

    products = [k * d for k, d in zip(times(transform.kernel, taps), times(transform.input, inputs), strict=True)]
    expected = [sum(taps[j] * inputs[i + j] for j in range(3)) for i in range(transform.step)]
    assert times(transform.output, products) == expected


@given(
    size=st.tuples(st.integers(3, 11), st.integers(3, 11)),
    channels=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=5)
def test_any_shape(size, channels, padding, seed):
    x, kernel = random_layer(seed, 2, size, channels)
    assert_equal_forms(lambda x, k: winograd.winograd_conv(x, k, padding), direct(padding), x, kernel)


@pytest.mark.parametrize(("side", "width"), [(32, 64), (4, 512)])
def test_the_widest_and_the_deepest_layers_of_resnet18(side, width):
    """Against float64, to 1e-5 of the scale, in as many groups as the layer takes."""
    x, kernel = random_layer(0, 4, (side, side), (width, width))
    form = {"strides": (1, 1), "padding": "SAME", "pool": 1}
    ours = value_and_gradients(lambda x, k: conv_pool(x, k, **form), x, kernel)
    with jax.enable_x64(True):
        exact = value_and_gradients(direct(SAME), x.astype("float64"), kernel.astype("float64"))
    for got, expected in zip(ours, exact, strict=True):
        scale = np.abs(np.asarray(expected)).max()
        np.testing.assert_allclose(np.asarray(got) / scale, np.asarray(expected) / scale, atol=1e-5)


def test_vmapped_over_clients_with_their_own_kernels():
    layers = [random_layer(seed, 4, (9, 9), (3, 4)) for seed in range(3)]
    x, kernels = (jnp.stack(arrays) for arrays in zip(*layers, strict=True))
    assert_equal_forms(jax.vmap(lambda x, k: winograd.winograd_conv(x, k, SAME)), jax.vmap(direct(SAME)), x, kernels)


def test_groups_divide_the_batch_and_stay_in_the_cache():
    for batch in (1, 6, 7, 64):
        for side, width in ((32, 64), (16, 128), (8, 256), (4, 512), (224, 64)):
            assert batch % winograd.group_size((batch, side, side, width), (3, 3, width, width)) == 0
    assert winograd.group_size((64, 32, 32, 64), (3, 3, 64, 64)) == 2
    assert winograd.group_size((64, 4, 4, 512), (3, 3, 512, 512)) == 64


@pytest.mark.parametrize(
    ("kernel", "strides", "pool", "suits"),
    [
        ((3, 3, 64, 64), (1, 1), 1, True),
        ((3, 3, 64, 128), (1, 1), 1, True),
        ((3, 3, 64, 128), (2, 2), 1, False),
        ((1, 1, 64, 64), (1, 1), 1, False),
        ((5, 5, 64, 64), (1, 1), 1, False),
        ((3, 3, 3, 64), (1, 1), 1, False),
        ((3, 3, 64, 64), (1, 1), 2, False),
    ],
)
def test_which_layers_it_suits(kernel, strides, pool, suits):
    assert winograd.suits(kernel, strides, pool) == suits
