"""Algebra on parameter trees, thin over optax.tree.

Products run at the highest precision: the default of TPUs and of recent GPUs rounds the inputs of a product
to 8 or 10 bits of mantissa, which is fine for a layer and ruinous for an aggregate or an angle.
"""

import functools
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import optax

from fedcos_jax.types import Array, Params

Tree = TypeVar("Tree")

_SMALL, _MANY = 1024, 8
"""Numbers of a small leaf; small leaves that are worth joining."""

sub = optax.tree.sub
add = optax.tree.add
scale = optax.tree.scale
zeros_like = optax.tree.zeros_like


def dot(a: Params, b: Params) -> Array:
    """<a, b>. Not a sum of products, which under `vmap` would first copy an unbatched side for every client."""
    products = (jnp.vdot(x, y, precision=jax.lax.Precision.HIGHEST) for x, y in zip(_parts(a), _parts(b), strict=True))
    return functools.reduce(jnp.add, products)


def squared_norm(a: Params) -> Array:
    """‖a‖²."""
    return optax.tree.norm(_parts(a), squared=True)


@jax.custom_jvp
def squared_distance(a: Params, b: Params) -> Array:
    """‖a - b‖², with a derivative that keeps nothing of it but a and b.

    Whatever needs the difference computes it in passing. One that XLA finds to be needed twice it writes to memory
    first, which on a CPU costs more than all the rest: so here it is b - a, and in the derivative b has a barrier.
    """
    return squared_norm(sub(b, a))


@squared_distance.defjvp
def _squared_distance_jvp(points: tuple[Params, Params], directions: tuple[Params, Params]) -> tuple[Array, Array]:
    a, b = points
    difference = sub(a, jax.lax.optimization_barrier(b))
    return squared_distance(a, b), 2 * dot(difference, sub(*directions))


def norm(a: Params) -> Array:
    """‖a‖, without overflow or underflow of the squares."""
    parts = _parts(a)
    largest = functools.reduce(jnp.maximum, (jnp.max(jnp.abs(part)) for part in parts))
    unit = jnp.where(largest > 0, largest, 1)
    return unit * jnp.sqrt(squared_norm(divide(parts, unit)))


def _parts(a: Params) -> list[Array]:
    """The leaves, the small ones joined: what is done to each takes an operation, and compiling one takes its time."""
    leaves = jax.tree.leaves(a)
    small = [leaf.ravel() for leaf in leaves if leaf.size <= _SMALL]
    if len(small) < _MANY:
        return leaves
    return [leaf for leaf in leaves if leaf.size > _SMALL] + [jnp.concatenate(small)]


def divide(a: Params, scalar: Array) -> Params:
    """a / scalar, in the dtype of each leaf."""
    return jax.tree.map(lambda x: x / scalar.astype(x.dtype), a)


def sum_type(a: Params) -> jnp.dtype:
    """The dtype for sums of many numbers: the dtype of the tree, but at least float32."""
    dtype = jax.tree.leaves(a)[0].dtype
    return dtype if dtype.itemsize >= 4 else jnp.dtype(jnp.float32)


def combine(coefficients: Array, stacked: Params) -> Params:
    """Linear combinations of stacked trees: coefficients [k, clients] times leaves [clients, ...] gives [k, ...]."""
    return jax.tree.map(
        lambda leaf: jnp.tensordot(coefficients.astype(leaf.dtype), leaf, axes=1, precision=jax.lax.Precision.HIGHEST),
        stacked,
    )


def map_rows(f: Callable[..., Tree], *stacked: Params) -> Tree:
    """f of every row of stacked trees, by `vmap`; a single row goes without, which compiles to faster code."""
    if jax.tree.leaves(stacked)[0].shape[0] > 1:
        return jax.vmap(f)(*stacked)
    return jax.tree.map(lambda leaf: leaf[None], f(*(row(one, 0) for one in stacked)))


def stack(a: Params, copies: int) -> Params:
    """The tree so many times over: leaves [copies, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], copies, axis=0), a)


def row(stacked: Params, index: int) -> Params:
    """The tree at one index of a stacked tree."""
    return jax.tree.map(lambda leaf: leaf[index], stacked)


def add_to_rows(stacked: Params, rows: Array, values: Params) -> Params:
    """A stacked tree with values [rows, ...] added to some of its rows; what is for a negative one is dropped."""
    return jax.tree.map(lambda leaf, new: leaf.at[_valid(rows, leaf)].add(new, mode="drop"), stacked, values)


def set_rows(stacked: Params, rows: Array, values: Params) -> Params:
    """A stacked tree with other values [rows, ...] in some of its rows; what is for a negative one is dropped."""
    return jax.tree.map(lambda leaf, new: leaf.at[_valid(rows, leaf)].set(new, mode="drop"), stacked, values)


def _valid(rows: Array, leaf: Array) -> Array:
    """Past the end instead of negative, which would count from the end."""
    return jnp.where(rows < 0, leaf.shape[0], rows)
