"""Convolution for CPUs: blocks of output pixels are one matrix product, which includes the max-pooling.

A convolution with few channels is a matrix product with a tiny side, which a CPU runs far below its speed. Under `vmap`
over clients XLA turns it into a grouped convolution, which is slower still. Here the output is cut into blocks of
bh x bw pixels, and the input into blocks of the same grid (space to depth). Between these blocks there is a small
kernel of gh x gw blocks. Its taps are copies of the true kernel, shifted and padded with zeros:

    patches [rows, gh·gw · bh·bw·in]  @  kernel [gh·gw · bh·bw·in, bh·bw·out]

This multiplies more numbers, some of them zeros, but the products have a good shape and the input is copied few times.
The columns are ordered by their place in the pooling window, so that max-pooling is a maximum of contiguous slices.

A loop takes groups of images whose patches stay in the cache. Patches are cut again for the gradient, not kept. In wide
layers they are many times the input, and those of a whole batch would not fit in memory.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax.ops.blocks import in_blocks, largest_divisor
from fedcos_jax.ops.pool import first_place
from fedcos_jax.types import Array

Pair = tuple[int, int]

_NARROW_PRODUCT = 24
"""A matrix product with this many columns runs at about half the speed of a wide one."""
_COPY_COST = 8
"""Copying a number into a patch and adding it back in the gradient cost about as much as this many multiply-adds."""
_CACHE_NUMBERS = 2**18
"""Numbers of a group's patches that a core's own cache holds."""
_KERNELS_WORTH = 4
"""If the patches of a group are this many times the kernel, the passes over the kernel are cheap."""


class Blocks(NamedTuple):
    """How an output is cut into blocks. Pairs are (vertical, horizontal)."""

    output: Pair
    """Size of the output before pooling, in pixels, without the edges that pooling drops."""
    block: Pair
    """Size of a block in output pixels, a multiple of the pooling window."""
    grid: Pair
    """Number of blocks in the output."""
    taps: Pair
    """Number of input blocks that an output block depends on."""
    reach: Pair
    """Number of input pixels that an output block depends on."""
    strides: Pair
    pool: int

    @property
    def input_block(self) -> Pair:
        """Size of a block in input pixels."""
        return self.block[0] * self.strides[0], self.block[1] * self.strides[1]

    def tap(self, i: int, j: int) -> tuple[slice, slice]:
        """The part of an output block's reach that lies in the input block i blocks down and j blocks to the right."""
        ih, iw = self.input_block
        rows, columns = min(self.reach[0], (i + 1) * ih), min(self.reach[1], (j + 1) * iw)
        return slice(i * ih, rows), slice(j * iw, columns)


def cut(input_size: Pair, kernel_shape: tuple[int, ...], strides: Pair, pool: int, width: int) -> Blocks:
    """Cuts the output of a convolution into blocks one pooling window high and `width` windows wide."""
    block = (pool, pool * width)

    def along(axis: int) -> tuple[int, int, int, int]:
        side, stride = kernel_shape[axis], strides[axis]
        output = ((input_size[axis] - side) // stride + 1) // pool * pool
        reach = (block[axis] - 1) * stride + side
        return output, -(-output // block[axis]), -(-reach // (block[axis] * stride)), reach

    output, grid, taps, reach = zip(along(0), along(1), strict=True)
    return Blocks(output, block, grid, taps, reach, strides, pool)


def choose_blocks(input_size: Pair, kernel_shape: tuple[int, ...], strides: Pair, pool: int) -> Blocks:
    """The cut with the least estimated work.

    Args:
        input_size: height and width of the padded input.
        kernel_shape: (kh, kw, in, out).
        strides: strides of the convolution.
        pool: side and stride of the pooling window, 1 for no pooling.
    """
    _, _, in_channels, out_channels = kernel_shape

    def work(blocks: Blocks) -> float:
        (bh, bw), (rh, rw) = blocks.block, blocks.reach
        rows = blocks.grid[0] * blocks.grid[1]
        depth, columns = rh * rw * in_channels, bh * bw * out_channels
        return rows * depth * (columns + _NARROW_PRODUCT + _COPY_COST)

    return min((cut(input_size, kernel_shape, strides, pool, width) for width in (1, 2, 4, 8)), key=work)


def block_kernel(kernel: Array, blocks: Blocks) -> Array:
    """[kh, kw, in, out] -> the kernel between blocks, [depth, block · out].

    A row is a number of a patch, in the order of `block_patches`. A column is a place in the pooling window, a window
    in the block, and an output channel.
    """
    (bh, bw), (rh, rw), (th, tw) = blocks.block, blocks.reach, blocks.taps
    kh, kw, _, features = kernel.shape
    pool = blocks.pool

    def shifted(y: int, x: int) -> Array:
        top, left = y * blocks.strides[0], x * blocks.strides[1]
        return jnp.pad(kernel, ((top, rh - kh - top), (left, rw - kw - left), (0, 0), (0, 0)))

    windows = [(i, j) for i in range(0, bh, pool) for j in range(0, bw, pool)]
    places = [(dy, dx) for dy in range(pool) for dx in range(pool)]
    columns = jnp.stack([shifted(i + dy, j + dx) for dy, dx in places for i, j in windows], axis=3)
    taps = [columns[blocks.tap(i, j)] for i in range(th) for j in range(tw)]
    return jnp.concatenate([tap.reshape(-1, bh * bw * features) for tap in taps])


def block_patches(x: Array, blocks: Blocks) -> Array:
    """[batch, height, width, in] -> the inputs that each output block depends on, [batch, *grid, depth]."""
    (nh, nw), (ih, iw), (th, tw) = blocks.grid, blocks.input_block, blocks.taps
    batch, channels = x.shape[0], x.shape[-1]
    rows, columns = nh + th - 1, nw + tw - 1
    x = x[:, : rows * ih, : columns * iw]
    x = jnp.pad(x, ((0, 0), (0, rows * ih - x.shape[1]), (0, columns * iw - x.shape[2]), (0, 0)))
    deep = x.reshape(batch, rows, ih, columns, iw * channels).transpose(0, 1, 3, 2, 4)

    def tap(i: int, j: int) -> Array:
        high, wide = (pixels.stop - pixels.start for pixels in blocks.tap(i, j))
        return deep[:, i : i + nh, j : j + nw, :high, : wide * channels].reshape(batch, nh, nw, -1)

    return jnp.concatenate([tap(i, j) for i in range(th) for j in range(tw)], axis=-1)


def group_size(batch: int, blocks: Blocks, depth: int, columns: int) -> int:
    """Images per step of the loop, a divisor of the batch.

    Args:
        batch: images in the batch.
        blocks: the cut of the output.
        depth: numbers per patch.
        columns: columns of the kernel between blocks.
    """
    most = max(_CACHE_NUMBERS, _KERNELS_WORTH * depth * columns) // (blocks.grid[0] * blocks.grid[1] * depth)
    return largest_divisor(batch, at_most=most)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def block_conv(x: Array, kernel: Array, blocks: Blocks) -> Array:
    """Convolution and max-pooling.

    Args:
        x: padded inputs, [batch, height, width, in].
        kernel: [kh, kw, in, out].
        blocks: from `choose_blocks`.

    Returns:
        [batch, output height / pool, output width / pool, out].
    """
    return _forward(x, kernel, blocks)[0]


def _forward(x: Array, kernel: Array, blocks: Blocks):
    matrix = block_kernel(kernel, blocks)

    def forward(images: Array) -> tuple[Array, Array]:
        places = jnp.split(_flat_patches(images, blocks) @ matrix, blocks.pool**2, axis=-1)
        best = functools.reduce(jnp.maximum, places)
        return best, first_place(places, best)

    best, winner = jax.lax.map(forward, in_blocks(x, group_size(x.shape[0], blocks, *matrix.shape)))
    return _assemble(best, blocks, x.shape[0], kernel.shape[-1]), (x, kernel, winner)


def _backward(blocks: Blocks, residuals, cotangent: Array):
    x, kernel, winner = residuals
    batch, features = x.shape[0], kernel.shape[-1]
    best = jax.ShapeDtypeStruct(winner.shape, cotangent.dtype)
    (grad_best,) = jax.linear_transpose(lambda b: _assemble(b, blocks, batch, features), best)(cotangent)
    matrix, unfold = jax.vjp(lambda k: block_kernel(k, blocks), kernel)

    def backward(grad_matrix: Array, group: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        images, winner, grad_best = group
        places = [jnp.where(winner == place, grad_best, 0) for place in range(blocks.pool**2)]
        # Without the barrier XLA computes these choices in the order of the transpose below. That is four times slower.
        grad_products = jax.lax.optimization_barrier(jnp.concatenate(places, axis=-1))
        patches, uncut = jax.vjp(lambda images: _flat_patches(images, blocks), images)
        (grad_images,) = uncut(grad_products @ matrix.T)
        return grad_matrix + grad_products.T @ patches, grad_images

    groups = (in_blocks(x, batch // winner.shape[0]), winner, grad_best)
    grad_matrix, grad_x = jax.lax.scan(backward, jnp.zeros_like(matrix.T), groups)
    (grad_kernel,) = unfold(grad_matrix.T)
    return grad_x.reshape(x.shape), grad_kernel


def _flat_patches(images: Array, blocks: Blocks) -> Array:
    """The patches of a group of images, [images · grid, depth]."""
    patches = block_patches(images, blocks)
    return patches.reshape(-1, patches.shape[-1])


def _assemble(best: Array, blocks: Blocks, batch: int, features: int) -> Array:
    """[groups, images · grid, windows · out] -> pooled images [batch, height, width, out], without the overhang."""
    rows, columns = blocks.grid[0], blocks.grid[1] * (blocks.block[1] // blocks.pool)
    image = best.reshape(batch, rows, columns, features)
    return image[:, : blocks.output[0] // blocks.pool, : blocks.output[1] // blocks.pool]


block_conv.defvjp(_forward, _backward)
