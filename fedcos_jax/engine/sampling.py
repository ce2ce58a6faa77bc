"""Which clients take part in a round and which rows a client sees, from keys and counters alone.

No order is stored. A shuffled order is a bijection that a key determines, and it is evaluated only where it is needed.
A population of 100,000 clients therefore costs one step counter per client.
"""

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.types import Array

IntArray = TypeVar("IntArray", Array, np.ndarray)

_MIXING_ROUNDS = 8
"""Rounds of the Feistel network. With 8, all 120 orders of five rows come out equally often. A test counts them."""


def permuted(key: Array, n: Array | int, positions: Array) -> Array:
    """The elements at the given positions of a random permutation of 0..n-1 that the key determines.

    This is a Feistel network on the grid that just covers n. Each round shifts the row by a hash of the column, then
    the column by a hash of the row. Values that land outside n go through the network again. That happens to fewer than
    one value in sqrt(n), and the whole stays a bijection.

    Args:
        key: a JAX random key.
        n: size of the permuted range, below 2³¹. It may be traced.
        positions: integers in [0, n), any shape.

    Returns:
        int32, in the shape of positions.
    """
    size = jnp.maximum(jnp.asarray(n, jnp.uint32), 1)
    rows = jnp.ceil(jnp.sqrt(size.astype(jnp.float32))).astype(jnp.uint32)
    columns = (size + rows - 1) // rows
    round_keys = jax.random.bits(key, (_MIXING_ROUNDS, 2), jnp.uint32)

    def mix(i: Array, cell: tuple[Array, Array]) -> tuple[Array, Array]:
        row, column = cell
        row = _shift(row, rows, column ^ round_keys[i, 0])
        return row, _shift(column, columns, row ^ round_keys[i, 1])

    def network(value: Array) -> Array:
        row, column = jax.lax.fori_loop(0, _MIXING_ROUNDS, mix, (value // columns, value % columns))
        return row * columns + column

    def outside(value: Array) -> Array:
        return jnp.any(value >= size)

    def again(value: Array) -> Array:
        return jnp.where(value >= size, network(value), value)

    return jax.lax.while_loop(outside, again, network(positions.astype(jnp.uint32))).astype(jnp.int32)


def _shift(value: Array, modulus: Array, seed: Array) -> Array:
    """(value + hash(seed)) mod modulus, for value < modulus < 2¹⁶, without a division."""
    shift = ((_hash(seed) >> 16) * modulus) >> 16
    shifted = value + shift
    return jnp.where(shifted >= modulus, shifted - modulus, shifted)


def _hash(x: Array) -> Array:
    """A 32-bit integer mixer of xor-shifts and products. Every input bit flips about half of the output bits."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def cohort(key: Array, population: int, size: int) -> Array:
    """The clients of a round, [size]: all clients in order, or a uniform draw without replacement."""
    if size == population:
        return jnp.arange(population, dtype=jnp.int32)
    return permuted(key, population, jnp.arange(size, dtype=jnp.int32))


def steps_per_epoch(rows: IntArray, batch_size: int) -> IntArray:
    """Mini-batches in one pass over `rows` rows, including a short last one."""
    return -(-rows // batch_size)


def epoch_batch(key: Array, rows: Array, step: Array, batch_size: int) -> tuple[Array, Array]:
    """The mini-batch that a client sees at a local step. Steps are counted over the whole run.

    Every epoch is a fresh permutation of the client's rows. The last batch of an epoch is short if the batch size does
    not divide the number of rows.

    Args:
        key: the client's own key for its data order.
        rows: number of rows that the client owns. It may be traced.
        step: number of local steps that the client has done before.
        batch_size: rows per batch. It is static.

    Returns:
        Positions among the client's rows [batch_size], and a mask [batch_size], True where a position is real.
    """
    epoch, step_in_epoch = jnp.divmod(step, steps_per_epoch(rows, batch_size))
    positions = step_in_epoch * batch_size + jnp.arange(batch_size, dtype=jnp.int32)
    mask = positions < rows
    return permuted(jax.random.fold_in(key, epoch), rows, jnp.where(mask, positions, 0)), mask
