"""Layers the models share."""

import functools
import math
from fractions import Fraction

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax.ops.conv import Conv
from fedcos_jax.types import Array

_WORD = 32
_PRECISION = 16
"""Probabilities are rounded to multiples of 2⁻¹⁶."""


def random_mask(key: Array, probability: float, shape: tuple[int, ...]) -> Array:
    """Independent booleans, true with the given probability rounded to 16 binary digits.

    Spends one random bit an element for probability ½ and at most 16 for any other: random words are combined
    bit by bit along the binary digits of the probability, lowest first (or for a one, and for a zero).
    On a CPU, 32 bits of threefry an element would cost a sixth of the MLP's training step.
    """
    threshold = Fraction(round(probability * 2**_PRECISION), 2**_PRECISION)
    if threshold in (0, 1):
        return jnp.full(shape, threshold == 1)
    num_digits = threshold.denominator.bit_length() - 1
    size = math.prod(shape)
    planes = jax.random.bits(key, (num_digits, -(-size // _WORD)), jnp.uint32)
    words = jnp.zeros_like(planes[0])
    for i in range(num_digits):
        words = words | planes[i] if threshold.numerator >> i & 1 else words & planes[i]
    bits = words[:, None] >> jnp.arange(_WORD, dtype=jnp.uint32)[None, :] & 1
    return bits.reshape(-1)[:size].reshape(shape).astype(bool)


class Dropout(nn.Module):
    """nn.Dropout with a cheaper mask: zeroes elements with probability `rate`, scales the rest by 1/(1 - rate).

    Elements that differ only along `shared_axes` are kept or zeroed together; (1, 2) drops whole channels of an image.
    """

    rate: float
    shared_axes: tuple[int, ...] = ()

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        if not train or self.rate == 0:
            return x
        shape = tuple(1 if axis in self.shared_axes else size for axis, size in enumerate(x.shape))
        keep = random_mask(self.make_rng("dropout"), 1 - self.rate, shape)
        return jnp.where(keep, x / (1 - self.rate), 0)


class GroupNorm(nn.Module):
    """nn.GroupNorm on [batch, height, width, channels]: same parameters, same values.

    Moments are summed over the pixels of each channel first, neighbours in memory at every pixel, then over the few
    channels of a group; what is left to do with a pixel is one multiply-add a channel. On a CPU that takes less than
    half the time of reductions over groups.
    """

    num_groups: int
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x: Array) -> Array:
        channels = x.shape[-1]
        scale = self.param("scale", nn.initializers.ones, (channels,))
        bias = self.param("bias", nn.initializers.zeros, (channels,))

        def mean(values: Array) -> Array:
            by_group = values.mean(axis=(1, 2)).reshape(-1, self.num_groups, channels // self.num_groups)
            return jnp.broadcast_to(by_group.mean(axis=-1, keepdims=True), by_group.shape).reshape(-1, 1, 1, channels)

        average = mean(x)
        variance = jnp.maximum(mean(jnp.square(x)) - jnp.square(average), 0)
        factor = jax.lax.rsqrt(variance + self.epsilon) * scale.reshape(1, 1, 1, -1)
        return x * factor + (bias.reshape(1, 1, 1, -1) - average * factor)


def torch_uniform(fan_in: int) -> nn.initializers.Initializer:
    """Uniform in ±1/sqrt(fan_in): PyTorch's default for the weights and the biases of a layer."""
    bound = fan_in**-0.5

    def init(key, shape, dtype=jnp.float32):
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return init


def dense(features: int, fan_in: int, torch_init: bool) -> nn.Dense:
    """A dense layer, initialised as PyTorch does or as flax does."""
    if not torch_init:
        return nn.Dense(features)
    return nn.Dense(features, kernel_init=torch_uniform(fan_in), bias_init=torch_uniform(fan_in))


def conv(
    features: int,
    size: int,
    channels: int,
    torch_init: bool,
    *,
    stride: int = 1,
    padding: int = 0,
    use_bias: bool = True,
    pool: int = 1,
) -> Conv:
    """A square convolution, initialised as PyTorch does (fan_in = size · size · channels) or as flax does."""
    sides = ((padding, padding), (padding, padding))
    layer = functools.partial(Conv, features, (size, size), (stride, stride), sides, use_bias, pool)
    init = torch_uniform(size * size * channels)
    return layer(kernel_init=init, bias_init=init) if torch_init else layer()


def with_channels(x: Array) -> Array:
    """Images [batch, height, width, channels]; those of grayscale datasets come without the last axis."""
    return x[..., None] if x.ndim == 3 else x
