"""Convolution for CPUs: blocks of output pixels as one matrix product, with the max-pooling folded in.

A convolution with few channels is a matrix product with a tiny side, which a CPU runs far below its speed, and under
`vmap` over clients XLA turns it into a grouped convolution, which it runs slower still. Here the output is cut into
blocks of bh x bw pixels. The input, cut into blocks of the same grid (space to depth), then needs only a small kernel
of gh x gw blocks, whose taps are copies of the true kernel, shifted and padded with zeros:

    patches [rows, gh·gw · bh·bw·in]  @  kernel [gh·gw · bh·bw·in, bh·bw·out]

It multiplies more numbers, some of them zeros, but in products of a good shape, with few copies of the input. The
columns are ordered by their place in the pooling window, so that max-pooling is a maximum of contiguous slices.

Images go through in groups whose patches stay in the cache. Patches are never kept, but cut again for the gradient: for
wide layers they are many times the input, and a whole batch of them would not fit in memory.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax.ops.blocks import largest_divisor
from fedcos_jax.types import Array

Pair = tuple[int, int]

_NARROW_PRODUCT = 24
"""A product with this many columns runs at about half the speed of a wide one."""
_COPY_COST = 8
"""Copying a number of a patch and adding it back in the gradient costs about as much as this many multiply-adds."""
_CACHE_NUMBERS = 2**18
"""Numbers of a group's patches that a core's own cache holds."""
_KERNELS_WORTH = 4
"""A group whose patches are this many times the kernel makes the passes over the kernel cheap."""


class Blocks(NamedTuple):
    """How an output is cut into blocks, each pair as (vertical, horizontal)."""

    output: Pair
    """Pixels of the output before pooling, as far as pooling uses them."""
    block: Pair
    """Output pixels of a block; a multiple of the pooling window."""
    grid: Pair
    """Blocks of the output."""
    taps: Pair
    """Input blocks that a block of the output depends on."""
    reach: Pair
    """Input pixels that a block of the output depends on."""
    strides: Pair
    pool: int

    @property
    def input_block(self) -> Pair:
        return self.block[0] * self.strides[0], self.block[1] * self.strides[1]

    def tap(self, i: int, j: int) -> tuple[slice, slice]:
        """Which pixels of a block's reach lie in the input block i blocks further down and j further right."""
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
    """The cut with the least estimated work."""
    _, _, in_channels, out_channels = kernel_shape

    def work(blocks: Blocks) -> float:
        (bh, bw), (rh, rw) = blocks.block, blocks.reach
        rows = blocks.grid[0] * blocks.grid[1]
        depth, columns = rh * rw * in_channels, bh * bw * out_channels
        return rows * depth * (columns + _NARROW_PRODUCT + _COPY_COST)

    return min((cut(input_size, kernel_shape, strides, pool, width) for width in (1, 2, 4, 8)), key=work)


def block_kernel(kernel: Array, blocks: Blocks) -> Array:
    """[kh, kw, in, out] -> the kernel between blocks, [reach · in by taps, pool² · (block / pool²) · out]."""
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
    """[batch, height, width, in] -> the input blocks each output block depends on, [batch, *grid, depth]."""
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
    """Images to take at a time: a divisor of the batch."""
    most = max(_CACHE_NUMBERS, _KERNELS_WORTH * depth * columns) // (blocks.grid[0] * blocks.grid[1] * depth)
    return largest_divisor(batch, at_most=most)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def block_conv(x: Array, kernel: Array, blocks: Blocks) -> Array:
    """Convolution and max-pooling.

    Args:
        x: [batch, height, width, in], padded already.
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
        return best, _first(places, best)

    best, winner = jax.lax.map(forward, _groups(x, group_size(x.shape[0], blocks, *matrix.shape)))
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
        # Without the barrier XLA computes these choices in the order of the transpose below, four times slower.
        grad_products = jax.lax.optimization_barrier(jnp.concatenate(places, axis=-1))
        patches, uncut = jax.vjp(lambda images: _flat_patches(images, blocks), images)
        (grad_images,) = uncut(grad_products @ matrix.T)
        return grad_matrix + grad_products.T @ patches, grad_images

    groups = (_groups(x, batch // winner.shape[0]), winner, grad_best)
    grad_matrix, grad_x = jax.lax.scan(backward, jnp.zeros_like(matrix.T), groups)
    (grad_kernel,) = unfold(grad_matrix.T)
    return grad_x.reshape(x.shape), grad_kernel


def _groups(x: Array, size: int) -> Array:
    return x.reshape(-1, size, *x.shape[1:])


def _flat_patches(images: Array, blocks: Blocks) -> Array:
    """The patches of a group of images, [images · grid, depth]."""
    patches = block_patches(images, blocks)
    return patches.reshape(-1, patches.shape[-1])


def _first(places: list[Array], best: Array) -> Array:
    """The first of the places that holds the maximum: the one to which `reduce_window` sends the gradient."""
    last = len(places) - 1
    winner = jnp.full(best.shape, last, jnp.int8)
    for place in reversed(range(last)):
        winner = jnp.where(places[place] == best, jnp.int8(place), winner)
    return winner


def _assemble(best: Array, blocks: Blocks, batch: int, features: int) -> Array:
    """[groups, images · grid, windows · out] -> the pooled images, the blocks' overhang cut off."""
    rows, columns = blocks.grid[0], blocks.grid[1] * (blocks.block[1] // blocks.pool)
    image = best.reshape(batch, rows, columns, features)
    return image[:, : blocks.output[0] // blocks.pool, : blocks.output[1] // blocks.pool]


block_conv.defvjp(_forward, _backward)
