"""Layers the models share."""

import math
from fractions import Fraction

import flax.linen as nn
import jax
import jax.numpy as jnp

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
    """nn.Dropout with a cheaper mask: zeroes elements with probability `rate`, scales the rest by 1/(1 - rate)."""

    rate: float

    @nn.compact
    def __call__(self, x: Array, train: bool) -> Array:
        if not train or self.rate == 0:
            return x
        keep = random_mask(self.make_rng("dropout"), 1 - self.rate, x.shape)
        return jnp.where(keep, x / (1 - self.rate), 0)


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
