"""Layers that several models share."""

import math

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax.ops.conv import Conv
from fedcos_jax.types import Array


class GroupNorm(nn.Module):
    """nn.GroupNorm on [batch, height, width, channels], with the same parameters and values.

    Moments are summed over the pixels of each channel first, then over the few channels of a group. The first sum reads
    neighbours in memory. The rest is one multiply-add per pixel and channel. On a CPU this takes less than half the
    time of reductions over groups.
    """

    num_groups: int
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x: Array) -> Array:
        channels = x.shape[-1]
        scale = self.param("scale", nn.initializers.ones, (channels,), jnp.float32)
        bias = self.param("bias", nn.initializers.zeros, (channels,), jnp.float32)

        return group_norm(x, scale, bias, self.num_groups, self.epsilon)


def group_norm(x: Array, scale: Array, bias: Array, num_groups: int, epsilon: float) -> Array:
    """Group normalisation of [batch, height, width, channels], with a scale and a bias [channels]."""
    channels = x.shape[-1]

    def mean(values: Array) -> Array:
        by_group = values.mean(axis=(1, 2)).reshape(-1, num_groups, channels // num_groups)
        return jnp.broadcast_to(by_group.mean(axis=-1, keepdims=True), by_group.shape).reshape(-1, 1, 1, channels)

    average = mean(x)
    variance = jnp.maximum(mean(jnp.square(x)) - jnp.square(average), 0)
    factor = jax.lax.rsqrt(variance + epsilon) * scale.reshape(1, 1, 1, -1)
    return x * factor + (bias.reshape(1, 1, 1, -1) - average * factor)


def torch_uniform(fan_in: int) -> nn.initializers.Initializer:
    """Uniform in ±1/sqrt(fan_in), PyTorch's default for the weights and the biases of a layer."""
    bound = fan_in**-0.5

    def init(key, shape, dtype=jnp.float32):
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return init


def dense(features: int, fan_in: int) -> nn.Dense:
    """A dense layer that is initialised as in PyTorch."""
    init = torch_uniform(fan_in)
    return nn.Dense(features, kernel_init=init, bias_init=init)


def conv(
    features: int,
    size: int,
    channels: int,
    *,
    stride: int = 1,
    padding: int = 0,
    use_bias: bool = True,
    pool: int = 1,
) -> Conv:
    """A square convolution that is initialised as in PyTorch, with fan_in = size · size · channels."""
    init = torch_uniform(size * size * channels)
    sides = ((padding, padding), (padding, padding))
    return Conv(features, (size, size), (stride, stride), sides, use_bias, pool, kernel_init=init, bias_init=init)


def with_channels(x: Array) -> Array:
    """Images [batch, height, width, channels]. Grayscale images [batch, height, width] get a last axis of length 1."""
    return x[..., None] if x.ndim == 3 else x


def flat(x: Array) -> Array:
    """[batch, ...] -> [batch, features]."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))
