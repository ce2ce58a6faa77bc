"""Random masks from few random bits, and the dropout that uses them."""

import math
from fractions import Fraction

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax.types import Array

_WORD = 32
"""Bits per random word."""
_PRECISION = 16
"""Probabilities are rounded to multiples of 2⁻¹⁶."""


def random_mask(key: Array, probability: float, shape: tuple[int, ...]) -> Array:
    """Independent booleans [*shape], each true with the given probability, rounded to 16 binary digits.

    It spends one random bit per element for probability ½, and at most 16 for any other. Random words are combined
    bit by bit along the binary digits of the probability, from the lowest digit up: a one takes `or`, a zero `and`.
    With 32 bits of threefry per element, the mask would be a sixth of the MLP's training step on a CPU.
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
    """nn.Dropout with a cheaper mask. It zeroes elements with probability `rate` and scales the rest by 1/(1 - rate).

    Elements that differ only along `shared_axes` share their fate. (1, 2) drops whole channels of an image.
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
