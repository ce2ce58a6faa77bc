"""A device's clients in chunks, each one `vmap`: only the models of one chunk are in memory at a time.

A chunk takes as long as the client in it with the most steps. Equal clients are cut into equal chunks; unequal ones, in
order of their steps, into chunks as wide as they can be without much waiting.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

from fedcos_jax import tree
from fedcos_jax.types import Array

Sums = TypeVar("Sums")

TOLERANCE = 1.25
"""Steps that a chunk of unequal clients may take in all, waiting included, for each real one."""
_NARROWING = 4
"""Each width is a quarter of the one before: every width is compiled."""


def sum_over_chunks(f: Callable[..., Sums], chunk: int, *arrays: Array) -> Sums:
    """Σ f(slice) over slices of `chunk` along the leading axis, the last one short if need be."""
    whole, rest = divmod(arrays[0].shape[0], chunk)
    head = [a[: whole * chunk].reshape(whole, chunk, *a.shape[1:]) for a in arrays]
    if whole == 1:
        total = f(*(a[0] for a in head))
    else:
        zeros = _zeros(f, *(a[0] for a in head))
        total, _ = jax.lax.scan(lambda sums, slices: (tree.add(sums, f(*slices)), None), zeros, head)
    if rest:
        total = tree.add(total, f(*(a[whole * chunk :] for a in arrays)))
    return total


def sum_over_unequal_chunks(
    f: Callable[..., Sums], chunk: int, num_steps: Array, rows: tuple[Array, ...], padding: tuple[int, ...]
) -> Sums:
    """Σ f(slice) over slices of at most `chunk` clients, each as wide as TOLERANCE allows.

    Args:
        f: takes a slice of each of `rows`.
        chunk: the widest slice.
        num_steps: local steps of each client, [clients], falling; those without any are left out.
        rows: arrays [clients].
        padding: for each array, the value of a row that f does not count, for slices that reach over the end.
    """
    widths = _widths(chunk)
    padded = [jnp.pad(array, (0, chunk), constant_values=value) for array, value in zip(rows, padding, strict=True)]
    steps = jnp.pad(num_steps, (0, chunk))
    before = jnp.pad(jnp.cumsum(steps), (1, 0))

    def slices_at(start: Array, width: int) -> list[Array]:
        return [jax.lax.dynamic_slice(array, (start,), (width,)) for array in padded]

    def add_slice(carry: tuple[Array, Sums]) -> tuple[Array, Sums]:
        start, sums = carry
        choices = jnp.array(widths, jnp.int32)
        real = before[start + choices] - before[start]
        widest = jnp.argmax(choices * steps[start] <= TOLERANCE * real)
        branches = [lambda start, width=width: f(*slices_at(start, width)) for width in widths]
        return start + choices[widest], tree.add(sums, jax.lax.switch(widest, branches, start))

    first = jnp.zeros((), jnp.int32)
    sums = _zeros(f, *slices_at(first, 1))
    return jax.lax.while_loop(lambda carry: steps[carry[0]] > 0, add_slice, (first, sums))[1]


def _widths(chunk: int) -> list[int]:
    """The widest slice first, down to a single client, which never waits."""
    widths = [chunk]
    while widths[-1] > 1:
        widths.append(max(1, widths[-1] // _NARROWING))
    return widths


def _zeros(f: Callable[..., Sums], *slices: Array) -> Sums:
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(f, *slices))
