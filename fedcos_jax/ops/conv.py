"""Convolution and max-pooling, in the form that is fastest on the platform."""

from collections.abc import Sequence
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax.ops import winograd
from fedcos_jax.ops.block_conv import block_conv, choose_blocks
from fedcos_jax.types import Array

Padding = str | Sequence[tuple[int, int]]


class Conv(nn.Module):
    """nn.Conv on [batch, height, width, channels], then max-pooling, with the same parameters and values.

    On CPUs it is computed as matrix products of transformed tiles (`winograd`) or of blocks of pixels (`block_conv`),
    depending on the layer's shape. Accelerators use XLA's convolution.
    """

    features: int
    kernel_size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: Padding = "VALID"
    use_bias: bool = True
    pool: int = 1
    """Side and stride of the max-pooling window. 1 for no pooling."""
    kernel_init: nn.initializers.Initializer = nn.initializers.lecun_normal()
    bias_init: nn.initializers.Initializer = nn.initializers.zeros_init()

    @nn.compact
    def __call__(self, x: Array) -> Array:
        shape = (*self.kernel_size, x.shape[-1], self.features)
        kernel = self.param("kernel", self.kernel_init, shape, jnp.float32)
        padding = self.padding if isinstance(self.padding, str) else tuple(map(tuple, self.padding))
        y = conv_pool(x, kernel, strides=self.strides, padding=padding, pool=self.pool)
        if not self.use_bias:
            return y
        # A bias that is the same in a whole window moves the maximum by itself, so it can be added after the pooling.
        return y + self.param("bias", self.bias_init, (self.features,), jnp.float32).reshape(1, 1, 1, -1)


@partial(jax.jit, static_argnames=("strides", "padding", "pool"))
def conv_pool(x: Array, kernel: Array, *, strides: tuple[int, int], padding: Padding, pool: int) -> Array:
    """Convolution, then max-pooling.

    It is jitted by itself, so that layers of the same shapes are traced once.

    Args:
        x: [batch, height, width, in].
        kernel: [kh, kw, in, out].
        strides: (vertical, horizontal) strides of the convolution.
        padding: "VALID", "SAME" or ((top, bottom), (left, right)).
        pool: side and stride of the pooling window, 1 for no pooling.

    Returns:
        [batch, output height / pool, output width / pool, out].
    """
    cpu_form, window_form = (
        partial(form, strides=strides, padding=padding, pool=pool) for form in (_products, window_conv)
    )
    return jax.lax.platform_dependent(x, kernel, cpu=cpu_form, default=window_form)


def _products(x: Array, kernel: Array, *, strides: tuple[int, int], padding: Padding, pool: int) -> Array:
    """`conv_pool` by matrix products."""
    if isinstance(padding, str):
        padding = jax.lax.padtype_to_pads(x.shape[1:3], kernel.shape[:2], strides, padding)
    if winograd.suits(kernel.shape, strides, pool):
        vertical, horizontal = padding
        return winograd.winograd_conv(x, kernel, (vertical, horizontal))
    x = jnp.pad(x, ((0, 0), *padding, (0, 0)))
    return block_conv(x, kernel, choose_blocks((x.shape[1], x.shape[2]), kernel.shape, strides, pool))


def window_conv(x: Array, kernel: Array, *, strides: tuple[int, int], padding: Padding, pool: int) -> Array:
    """`conv_pool` by XLA's own convolution and window reduction."""
    y = jax.lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return max_pool(y, pool)


def max_pool(x: Array, pool: int) -> Array:
    """The maximum of each pool x pool window of [batch, height, width, channels]. Pixels left over are dropped."""
    return x if pool == 1 else nn.max_pool(x, (pool, pool), strides=(pool, pool))
