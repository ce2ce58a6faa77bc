"""Algebra on parameter trees, a thin layer over optax.tree.

Products run at the highest precision. By default, TPUs and recent GPUs round the inputs of a product to 8 or 10 bits of
mantissa. That is enough for a layer, but not for an aggregate or an angle.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax

from fedcos_jax.errors import require
from fedcos_jax.types import Array, Params

Tree = TypeVar("Tree")

_SMALL, _MANY = 1024, 8
"""A leaf with at most _SMALL numbers is small. Small leaves are joined if there are at least _MANY of them."""

sub = optax.tree.sub
add = optax.tree.add
scale = optax.tree.scale
zeros_like = optax.tree.zeros_like


def named(a: Params) -> dict[str, Any]:
    """The leaves by name. A name is the path to a leaf, joined by dots, like `Dense_0.kernel`."""
    paths = jax.tree_util.tree_leaves_with_path(a)
    leaves = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in paths}
    require(len(leaves) == len(paths), "two parameters have the same name: their paths differ only in where dots are")
    return leaves


def dot(a: Params, b: Params) -> Array:
    """<a, b>. A sum of elementwise products would, under `vmap`, first copy an unbatched side for every client."""
    products = (jnp.vdot(x, y, precision=jax.lax.Precision.HIGHEST) for x, y in zip(_parts(a), _parts(b), strict=True))
    return functools.reduce(jnp.add, products)


def squared_norm(a: Params) -> Array:
    """‖a‖²."""
    return optax.tree.norm(_parts(a), squared=True)


@jax.custom_jvp
def squared_distance(a: Params, b: Params) -> Array:
    """‖a - b‖², with a derivative that keeps only a and b.

    XLA writes a difference to memory if two operations share it, which on a CPU costs more than all the rest. The value
    therefore uses b - a, and the derivative a - b with a barrier on b, so that each is fused into what needs it.
    """
    return squared_norm(sub(b, a))


@squared_distance.defjvp
def _squared_distance_jvp(points: tuple[Params, Params], directions: tuple[Params, Params]) -> tuple[Array, Array]:
    a, b = points
    difference = sub(a, jax.lax.optimization_barrier(b))
    return squared_distance(a, b), 2 * dot(difference, sub(*directions))


def norm(a: Params) -> Array:
    """‖a‖. The squares neither overflow nor underflow."""
    parts = _parts(a)
    largest = functools.reduce(jnp.maximum, (jnp.max(jnp.abs(part)) for part in parts))
    unit = jnp.where(largest > 0, largest, 1)
    return unit * jnp.sqrt(squared_norm(divide(parts, unit)))


def _parts(a: Params) -> list[Array]:
    """The leaves, with the small ones joined into one. Fewer leaves need fewer operations, which compile sooner."""
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
    """f of every row of stacked trees, by `vmap`. A single row does without `vmap`, which compiles to faster code."""
    if jax.tree.leaves(stacked)[0].shape[0] > 1:
        return jax.vmap(f)(*stacked)
    return jax.tree.map(lambda leaf: leaf[None], f(*(row(one, 0) for one in stacked)))


def stack(a: Params, copies: int) -> Params:
    """Copies of the tree, stacked: leaves [copies, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], copies, axis=0), a)


def row(stacked: Params, index: int) -> Params:
    """The tree at one index of a stacked tree."""
    return jax.tree.map(lambda leaf: leaf[index], stacked)


def add_to_rows(stacked: Params, rows: Array, values: Params) -> Params:
    """The stacked tree with values [rows, ...] added to the given rows. Values for negative rows are dropped."""
    return jax.tree.map(lambda leaf, new: leaf.at[_valid(rows, leaf)].add(new, mode="drop"), stacked, values)


def set_rows(stacked: Params, rows: Array, values: Params) -> Params:
    """The stacked tree with values [rows, ...] in the given rows. Values for negative rows are dropped."""
    return jax.tree.map(lambda leaf, new: leaf.at[_valid(rows, leaf)].set(new, mode="drop"), stacked, values)


def _valid(rows: Array, leaf: Array) -> Array:
    """The rows, with negative ones moved past the end. JAX would count negative rows from the end."""
    return jnp.where(rows < 0, leaf.shape[0], rows)
