"""A device trains its clients in chunks. A chunk is one `vmap`, so only the models of one chunk are in memory.

A chunk takes as long as its client with the most steps. Equal clients are cut into equal chunks. Unequal clients are
sorted by their steps and cut into chunks that are as wide as they can be without much waiting.
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
"""(carry, a slice of each array) -> (carry, sums). It is jitted where it is used. JAX then traces it once, and not
again for the shapes of its sums."""
Progress: TypeAlias = tuple[Array, tuple[Carry, Sums]]
"""The first row that is left, and the result of the rows before it."""

TOLERANCE = 1.25
"""How many steps a chunk of unequal clients may take, waiting included, per real step."""
_NARROWING = 4
"""Each width is a quarter of the one before. There are few widths, because each one is compiled."""


def over_chunks(f: Step, chunk: int, carry: Carry, rows: tuple[Array, ...]) -> tuple[Carry, Sums]:
    """Passes the carry through f, chunk of rows after chunk, and adds up the sums. The last chunk may be short."""
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
    """`over_chunks` for clients with unequal numbers of steps. Each chunk is as wide as `chunk` and TOLERANCE allow.

    Args:
        f: takes the carry and a slice of each array in `rows`.
        chunk: the most clients per chunk.
        num_steps: local steps [clients], in falling order. Clients without steps are left out.
        carry: what f gets with the first chunk.
        rows: arrays [clients].
        padding: for each array, the value of a row that f does not count. It fills a chunk that reaches past the end.
    """
    f = jax.jit(f)
    widths = jnp.array(_widths(chunk), jnp.int32)
    *padded, longest = pad((*rows, num_steps), chunk, (*padding, 0))
    before = jnp.cumsum(jnp.pad(num_steps, (1, chunk)))

    def slices_at(start: Array, width: int) -> list[Array]:
        return [jax.lax.dynamic_slice(array, (start,), (width,)) for array in padded]

    def unfinished(state: Progress) -> Array:
        return longest[state[0]] > 0

    def width_at(start: Array) -> Array:
        real = before[start + widths] - before[start]
        fits = (widths * longest[start]).astype(jnp.float32) <= TOLERANCE * real.astype(jnp.float32)
        return widths[jnp.argmax(fits | (widths == 1))]

    def take_slices_of(width: int, state: Progress) -> Progress:
        def chosen(state: Progress) -> Array:
            return unfinished(state) & (width_at(state[0]) == width)

        def take(state: Progress) -> Progress:
            return state[0] + width, _add(f, state[1], *slices_at(state[0], width))

        return jax.lax.while_loop(chosen, take, state)

    def take_slices(state: Progress) -> Progress:
        # Each width has a loop of its own. A choice between branches would copy the carry for every chunk.
        for width in _widths(chunk):
            state = take_slices_of(width, state)
        return state

    first = jnp.zeros((), jnp.int32)
    so_far = (carry, _zero_sums(f, carry, *slices_at(first, 1)))
    return jax.lax.while_loop(unfinished, take_slices, (first, so_far))[1]


def pad(rows: tuple[Array, ...], more: int, padding: tuple[int, ...]) -> tuple[Array, ...]:
    """The arrays with `more` rows at the end. `padding` has the value of the new rows for each array."""
    return tuple(jnp.pad(array, (0, more), constant_values=value) for array, value in zip(rows, padding, strict=True))


def _add(f: Step, so_far: tuple[Carry, Sums], *slices: Array) -> tuple[Carry, Sums]:
    carry, sums = f(so_far[0], *slices)
    return carry, tree.add(so_far[1], sums)


def _zero_sums(f: Step, carry: Carry, *slices: Array) -> Sums:
    sums = jax.eval_shape(f, carry, *slices)[1]
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), sums)


def _widths(chunk: int) -> list[int]:
    """The widths of chunks, from `chunk` down to a single client, which never waits."""
    widths = [chunk]
    while widths[-1] > 1:
        widths.append(max(1, widths[-1] // _NARROWING))
    return widths
