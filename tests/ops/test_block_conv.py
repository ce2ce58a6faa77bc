"""Blocks of output pixels: every cut gives the same, and groups of images divide the batch."""

import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax.ops.block_conv import block_conv, block_kernel, block_patches, choose_blocks, cut, group_size
from fedcos_jax.ops.conv import window_conv
from tests.ops.comparison import assert_equal_forms


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("pool", [1, 2])
def test_any_cut_gives_the_same(width, pool):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(2, 12, 15, 3)).astype(np.float32))
    kernel = jnp.asarray(rng.normal(size=(5, 4, 3, 2)).astype(np.float32))
    blocks = cut((12, 15), kernel.shape, (1, 1), pool, width)
    assert_equal_forms(
        lambda x, k: block_conv(x, k, blocks),
        lambda x, k: window_conv(x, k, strides=(1, 1), padding="VALID", pool=pool),
        x,
        kernel,
    )


def test_the_papers_layers_are_cut_as_measured():
    """2 x 4 pixels for the first layer of the CNN and 2 x 2 for the second were the fastest of those tried."""
    assert choose_blocks((32, 32), (5, 5, 3, 6), (1, 1), 2).block == (2, 4)
    assert choose_blocks((14, 14), (5, 5, 6, 16), (1, 1), 2).block == (2, 2)
    assert choose_blocks((34, 34), (3, 3, 64, 64), (1, 1), 1).block == (1, 1)


@pytest.mark.parametrize("pool", [1, 2])
def test_patches_times_the_kernel_are_the_outputs(pool):
    """Without the loop over groups and the pooling: the matrix product in the module's docstring."""
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(2, 9, 11, 3)).astype("float32"), rng.normal(size=(3, 4, 3, 2)).astype("float32")
    blocks = cut((9, 11), kernel.shape, (1, 1), pool, 2)
    patches, matrix = block_patches(jnp.asarray(x), blocks), block_kernel(jnp.asarray(kernel), blocks)
    assert patches.shape == (2, *blocks.grid, matrix.shape[0])
    products = np.asarray(patches @ matrix).reshape(2, *blocks.grid, pool, pool, 1, 2, 2)
    # A column is (row in the window, column in the window, window of the block, channel).
    pixels = products.transpose(0, 1, 5, 3, 2, 6, 4, 7).reshape(2, blocks.grid[0] * pool, -1, 2)
    expected = window_conv(jnp.asarray(x), jnp.asarray(kernel), strides=(1, 1), padding="VALID", pool=1)
    height, width = blocks.output
    np.testing.assert_allclose(pixels[:, :height, :width], expected[:, :height, :width], atol=1e-4)


@pytest.mark.parametrize("batch", [1, 6, 7, 64])
def test_groups_divide_the_batch(batch):
    blocks = choose_blocks((32, 32), (5, 5, 3, 6), (1, 1), 2)
    assert batch % group_size(batch, blocks, 500, 48) == 0
    assert group_size(64, blocks, 10**9, 48) == 1
