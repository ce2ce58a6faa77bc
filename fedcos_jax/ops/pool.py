"""Pooling over windows that do not overlap, in the form that is fastest on the platform.

XLA's gradient of a windowed maximum (`select_and_scatter`) is slow on a CPU. Here the windows are an axis of a reshaped
input, so that pooling and its gradient are a few passes over contiguous memory.
"""

import functools

import jax
import jax.numpy as jnp

from fedcos_jax.types import Array

Pair = tuple[int, int]


def first_place(places: list[Array], best: Array) -> Array:
    """The first place that holds the maximum. `reduce_window` sends the gradient to the same place."""
    last = len(places) - 1
    winner = jnp.full(best.shape, last, jnp.int8)
    for place in reversed(range(last)):
        winner = jnp.where(places[place] == best, jnp.int8(place), winner)
    return winner


def window_places(x: Array, window: Pair) -> list[Array]:
    """[batch, height, width, channels] -> for each place in the window, the pixels there. Pixels left over are dropped.

    Returns:
        Arrays [batch, height / window height, width / window width, channels], row after row of the window.
    """
    (wh, ww), (batch, height, width, channels) = window, x.shape
    rows, columns = height // wh, width // ww
    cut = x[:, : rows * wh, : columns * ww].reshape(batch, rows, wh, columns, ww, channels)
    return [cut[:, :, i, :, j] for i in range(wh) for j in range(ww)]


def window_sum(x: Array, window: Pair) -> Array:
    """The sum of each window, [batch, height / window height, width / window width, channels]."""
    return functools.reduce(jnp.add, window_places(x, window))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def window_max(x: Array, window: Pair) -> Array:
    """The maximum of each window, [batch, height / window height, width / window width, channels]."""
    return functools.reduce(jnp.maximum, window_places(x, window))


def _forward(x: Array, window: Pair) -> tuple[Array, tuple[Array, Array]]:
    places = window_places(x, window)
    best = functools.reduce(jnp.maximum, places)
    # An empty array carries the shape of x, which the gradient needs, without keeping x.
    return best, (first_place(places, best), jnp.zeros((*x.shape, 0), x.dtype))


def _backward(window: Pair, saved: tuple[Array, Array], cotangent: Array) -> tuple[Array]:
    winner, shape = saved
    (wh, ww), (_, height, width, _) = window, shape.shape[:-1]
    places = [jnp.where(winner == place, cotangent, 0) for place in range(wh * ww)]
    cut = jnp.stack([jnp.stack(places[i * ww : (i + 1) * ww], axis=3) for i in range(wh)], axis=2)
    batch, rows, _, columns, _, channels = cut.shape
    gradient = cut.reshape(batch, rows * wh, columns * ww, channels)
    return (jnp.pad(gradient, ((0, 0), (0, height - rows * wh), (0, width - columns * ww), (0, 0))),)


window_max.defvjp(_forward, _backward)
