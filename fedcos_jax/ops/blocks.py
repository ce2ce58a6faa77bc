"""An axis cut into equal blocks, so that a loop can take one block at a time."""

from fedcos_jax.types import Array


def largest_divisor(length: int, at_most: int) -> int:
    """The largest block size that divides the length and is at most `at_most`, or 1 if `at_most` is below 1."""
    return max(size for size in range(1, length + 1) if length % size == 0 and size <= max(at_most, 1))


def in_blocks(x: Array, size: int) -> Array:
    """[rows, ...] -> [rows / size, size, ...]. The size must divide the rows."""
    return x.reshape(-1, size, *x.shape[1:])
