"""A device's clients in chunks, each one `vmap`: only the models of one chunk are in memory at a time.

A chunk takes as long as the client in it with the most steps. Equal clients are cut into equal chunks; unequal ones, in
order of their steps, into chunks as wide as they can be without much waiting.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from fedcos_jax import tree
from fedcos_jax.types import Array

Carry: TypeAlias = Any
Sums: TypeAlias = Any
Step = Callable[..., tuple[Carry, Sums]]
"""(carry, slice of each array) -> (carry, sums). Jitted where it is used, so that JAX traces it once, and not again for
the shapes of its sums."""

TOLERANCE = 1.25
"""Steps that a chunk of unequal clients may take in all, waiting included, for each real one."""
_NARROWING = 4
"""Each width is a quarter of the one before: every width is compiled."""


def over_chunks(f: Step, chunk: int, carry: Carry, rows: tuple[Array, ...]) -> tuple[Carry, Sums]:
    """(carry, slice) -> (carry, sums) by f for slices of `chunk` rows, the last one short if need be; sums added up."""
    f = jax.jit(f)
    whole, rest = divmod(rows[0].shape[0], chunk)
    head = tuple(a[: whole * chunk].reshape(whole, chunk, *a.shape[1:]) for a in rows)
    first = tuple(a[0] for a in head)
    if whole == 1:
        result = f(carry, *first)
    else:
        start = (carry, _zero_sums(f, carry, *first))
        result, _ = jax.lax.scan(lambda so_far, slices: (_add(f, so_far, *slices), None), start, head)
    return _add(f, result, *(a[whole * chunk :] for a in rows)) if rest else result


def over_unequal_chunks(
    f: Step, chunk: int, num_steps: Array, carry: Carry, rows: tuple[Array, ...], padding: tuple[int, ...]
) -> tuple[Carry, Sums]:
    """The same for clients of unequal length: slices of at most `chunk`, each as wide as TOLERANCE allows.

    Args:
        f: takes the carry and a slice of each of `rows`.
        chunk: the widest slice.
        num_steps: local steps of each client, [clients], falling; those without any are left out.
        carry: for the first slice.
        rows: arrays [clients].
        padding: for each array, the value of a row that f does not count, for slices that reach over the end.
    """
    f = jax.jit(f)
    widths = _widths(chunk)
    padded = [jnp.pad(array, (0, chunk), constant_values=value) for array, value in zip(rows, padding, strict=True)]
    steps = jnp.pad(num_steps, (0, chunk))
    before = jnp.pad(jnp.cumsum(steps), (1, 0))

    def slices_at(start: Array, width: int) -> list[Array]:
        return [jax.lax.dynamic_slice(array, (start,), (width,)) for array in padded]

    def add_slice(state: tuple[Array, tuple[Carry, Sums]]) -> tuple[Array, tuple[Carry, Sums]]:
        start, so_far = state
        choices = jnp.array(widths, jnp.int32)
        real = before[start + choices] - before[start]
        widest = jnp.argmax(choices * steps[start] <= TOLERANCE * real)
        branches = [lambda so_far, width=width: _add(f, so_far, *slices_at(start, width)) for width in widths]
        return start + choices[widest], jax.lax.switch(widest, branches, so_far)

    first = jnp.zeros((), jnp.int32)
    so_far = (carry, _zero_sums(f, carry, *slices_at(first, 1)))
    return jax.lax.while_loop(lambda state: steps[state[0]] > 0, add_slice, (first, so_far))[1]


def _add(f: Step, so_far: tuple[Carry, Sums], *slices: Array) -> tuple[Carry, Sums]:
    carry, sums = f(so_far[0], *slices)
    return carry, tree.add(so_far[1], sums)


def _zero_sums(f: Step, carry: Carry, *slices: Array) -> Sums:
    sums = jax.eval_shape(f, carry, *slices)[1]
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), sums)


def _widths(chunk: int) -> list[int]:
    """The widest slice first, down to a single client, which never waits."""
    widths = [chunk]
    while widths[-1] > 1:
        widths.append(max(1, widths[-1] // _NARROWING))
    return widths
