"""Winograd's convolution for CPUs: 3x3 kernels with a third of the multiplications.

Neighbouring outputs of a convolution share products. Along one axis, m outputs of a kernel with 3 taps come from m + 2
inputs d by m + 2 multiplications instead of 3·m (Lavin and Gray, 2016, "Fast algorithms for convolutional neural
networks"):

    y = A ((G k) * (B d))        m = 2: 4 instead of 6        m = 4: 6 instead of 12

with constant matrices A, B, G. Here a tile is 2 x 4 outputs, with both axes transformed. For each pair of an input and
an output channel it takes 24 multiplications instead of 72. Summed over input channels these are 24 matrix products:

    inputs [24, tiles, in]  @  kernel [24, in, out]

The transforms are sums of a few numbers, which cost little beside products with many channels. Tiles of 4 x 4 would
save more multiplications but lose digits: their error is 1e-5 of the largest output, and that of 2 x 4 is about 4e-6.

The gradient of the input is the same convolution of the output's gradient with the flipped kernel. The gradient of the
kernel is the product of transformed inputs and output gradients. A loop takes groups of images that stay in the cache.
Transformed inputs are three times the size of the input, so they are never kept.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax.ops.blocks import in_blocks, largest_divisor
from fedcos_jax.types import Array

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]
Matrix = tuple[tuple[float, ...], ...]

SIDE = 3
"""Height and width of the kernels."""
_WIDE = 64
"""The fewest channels for which it was measured. It took half the time of `block_conv`."""
_CACHE_NUMBERS = 2**14
"""A core's own cache holds the transforms of this many pairs of a tile and a channel."""


class Transform(NamedTuple):
    """The matrices of one axis."""

    output: Matrix
    """A, [m, m + 2]."""
    input: Matrix
    """B, [m + 2, m + 2]."""
    kernel: Matrix
    """G, [m + 2, 3]."""

    @property
    def step(self) -> int:
        """m, the outputs per tile, which is also the distance between tiles."""
        return len(self.output)


TWO = Transform(
    output=((1, 1, 1, 0), (0, 1, -1, -1)),
    input=((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    kernel=((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
)
FOUR = Transform(
    output=((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
    input=(
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
    kernel=(
        (1 / 4, 0, 0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0, 0, 1),
    ),
)
VERTICAL, HORIZONTAL = TWO, FOUR


def suits(kernel_shape: tuple[int, ...], strides: Pair, pool: int) -> bool:
    """Whether a convolution can be computed in this form and is faster for it."""
    height, width, *channels = kernel_shape
    return (height, width) == (SIDE, SIDE) and strides == (1, 1) and pool == 1 and min(channels) >= _WIDE


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def winograd_conv(x: Array, kernel: Array, padding: Padding) -> Array:
    """Convolution with stride 1.

    Args:
        x: [batch, height, width, in].
        kernel: [3, 3, in, out].
        padding: ((top, bottom), (left, right)).

    Returns:
        [batch, height + top + bottom - 2, width + left + right - 2, out].
    """
    matrices = _kernel_matrices(kernel)
    group = group_size(x.shape, kernel.shape)
    y = jax.lax.map(lambda images: _convolve(images, matrices, padding), in_blocks(x, group))
    return y.reshape(x.shape[0], *y.shape[2:])


def _forward(x: Array, kernel: Array, padding: Padding) -> tuple[Array, tuple[Array, Array]]:
    return winograd_conv(x, kernel, padding), (x, kernel)


def _backward(padding: Padding, residuals, cotangent: Array) -> tuple[Array, Array]:
    x, kernel = residuals
    flipped = _kernel_matrices(kernel[::-1, ::-1])
    (top, bottom), (left, right) = padding
    rest = ((SIDE - 1 - top, SIDE - 1 - bottom), (SIDE - 1 - left, SIDE - 1 - right))

    def backward(grad_matrices: Array, group: tuple[Array, Array]) -> tuple[Array, Array]:
        images, grad_y = group
        inputs, grad_products = _input_tiles(images, padding), _output_gradient_tiles(grad_y)
        # A transpose inside the loop costs nothing, because it is part of the product.
        grad_images = _convolve(grad_y, flipped.swapaxes(1, 2), rest)
        return grad_matrices + inputs.swapaxes(1, 2) @ grad_products, grad_images

    group = group_size(x.shape, kernel.shape)
    groups = (in_blocks(x, group), in_blocks(cotangent, group))
    grad_matrices, grad_x = jax.lax.scan(backward, jnp.zeros_like(flipped), groups)
    return grad_x.reshape(x.shape), _kernel_gradient(grad_matrices)


winograd_conv.defvjp(_forward, _backward)


def _convolve(images: Array, matrices: Array, padding: Padding) -> Array:
    products = _input_tiles(images, padding) @ matrices
    return _outputs(products, images.shape[0], _output_size(images, padding))


def _kernel_matrices(kernel: Array) -> Array:
    """[3, 3, in, out] -> [24, in, out]."""
    by_column = _mix(HORIZONTAL.kernel, [kernel[:, j] for j in range(SIDE)])
    return _flat(_mix(VERTICAL.kernel, [by_column[:, i] for i in range(SIDE)]))


def _kernel_gradient(grad_matrices: Array) -> Array:
    """The transpose of `_kernel_matrices`, [24, in, out] -> [3, 3, in, out].

    It is written out, because JAX's derivative of `_kernel_matrices` took 84 ms for 256 channels.
    """
    by_place = grad_matrices.reshape(len(VERTICAL.input), len(HORIZONTAL.input), *grad_matrices.shape[1:])
    by_row = _mix(_transposed(VERTICAL.kernel), list(by_place))
    return _mix(_transposed(HORIZONTAL.kernel), [by_row[:, j] for j in range(len(HORIZONTAL.input))], axis=1)


def _input_tiles(images: Array, padding: Padding) -> Array:
    """The transformed inputs B d, [24, images · tiles, in]."""
    (top, bottom), (left, right) = padding
    height, width = _output_size(images, padding)
    bottom, right = bottom + -height % VERTICAL.step, right + -width % HORIZONTAL.step
    zero = jnp.zeros((), images.dtype)
    padded = jax.lax.pad(images, zero, ((0, 0, 0), (top, bottom, 0), (left, right, 0), (0, 0, 0)))
    columns = [padded[:, :, j : j + width : HORIZONTAL.step] for j in range(len(HORIZONTAL.input))]
    mixed = _mix(HORIZONTAL.input, columns)
    rows = [mixed[:, :, i : i + height : VERTICAL.step] for i in range(len(VERTICAL.input))]
    return _flat(_mix(VERTICAL.input, rows))


def _output_gradient_tiles(grad_y: Array) -> Array:
    """The gradients of the products, [24, images · tiles, out], from those of the outputs."""
    bottom, right = -grad_y.shape[1] % VERTICAL.step, -grad_y.shape[2] % HORIZONTAL.step
    padded = jnp.pad(grad_y, ((0, 0), (0, bottom), (0, right), (0, 0)))
    columns = [padded[:, :, j :: HORIZONTAL.step] for j in range(HORIZONTAL.step)]
    mixed = _mix(_transposed(HORIZONTAL.output), columns)
    rows = [mixed[:, :, i :: VERTICAL.step] for i in range(VERTICAL.step)]
    return _flat(_mix(_transposed(VERTICAL.output), rows))


def _outputs(products: Array, images: int, size: Pair) -> Array:
    """[24, images · tiles, out] -> [images, height, width, out]."""
    rows, columns = -(-size[0] // VERTICAL.step), -(-size[1] // HORIZONTAL.step)
    by_place = products.reshape(len(VERTICAL.input), len(HORIZONTAL.input), images, rows, columns, -1)
    by_row = _mix(VERTICAL.output, list(by_place), axis=3)
    y = _mix(HORIZONTAL.output, list(by_row), axis=4)
    y = y.reshape(images, rows * VERTICAL.step, columns * HORIZONTAL.step, -1)
    return y[:, : size[0], : size[1]]


def _output_size(images: Array, padding: Padding) -> Pair:
    """Height and width of the output."""
    (top, bottom), (left, right) = padding
    return images.shape[1] + top + bottom - SIDE + 1, images.shape[2] + left + right - SIDE + 1


def _mix(matrix: Matrix, parts: list[Array], axis: int = 0) -> Array:
    """The product of a matrix with a vector of arrays, stacked along a new axis. Zeros and ones multiply nothing."""

    def row(weights: tuple[float, ...]) -> Array:
        terms = (part if w == 1 else w * part for w, part in zip(weights, parts, strict=True) if w)
        return functools.reduce(jnp.add, terms)

    return jnp.stack([row(weights) for weights in matrix], axis)


def _flat(places: Array) -> Array:
    """[4, 6, ..., channels] -> [24, rows, channels]."""
    return places.reshape(len(VERTICAL.input) * len(HORIZONTAL.input), -1, places.shape[-1])


def _transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))


def group_size(shape: tuple[int, ...], kernel_shape: tuple[int, ...]) -> int:
    """Images per step of the loop, a divisor of the batch.

    They are few enough for the cache, but enough to be worth a pass over the kernel.

    Args:
        shape: (batch, height, width, in).
        kernel_shape: (3, 3, in, out).
    """
    batch, height, width, _ = shape
    *_, in_channels, out_channels = kernel_shape
    tiles = -(-height // VERTICAL.step) * -(-width // HORIZONTAL.step)
    most = max(_CACHE_NUMBERS // max(in_channels, out_channels), min(in_channels, out_channels) // 2) // tiles
    return largest_divisor(batch, at_most=most)
