"""Blocks of an axis: the largest size that divides it, and the axis cut into blocks."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedcos_jax.ops.blocks import in_blocks, largest_divisor


@given(length=st.integers(1, 200), at_most=st.integers(-3, 250))
def test_no_larger_block_divides_the_axis(length, at_most):
    size = largest_divisor(length, at_most)
    assert length % size == 0
    assert 1 <= size <= max(at_most, 1)
    assert not any(length % larger == 0 for larger in range(size + 1, min(at_most, length) + 1))


def test_blocks_keep_the_order_of_the_rows():
    x = np.arange(24).reshape(6, 4)
    blocks = in_blocks(jnp.asarray(x), 2)
    assert blocks.shape == (3, 2, 4)
    np.testing.assert_array_equal(blocks[1], x[2:4])
