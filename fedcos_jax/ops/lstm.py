"""An LSTM layer as one function with its own derivative.

(i, f, g, o) = (σ, σ, tanh, σ)(x_t W + h_{t-1} U + b),  c_t = f c_{t-1} + i g,  h_t = o tanh(c_t)

The gradients of W and U are one product each after the backward loop. The derivative of a plain loop would add to the
gradient of U at every step instead.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.types import Array

GATES = 4
"""In PyTorch's order: input i, forget f, candidate g, output o."""


@jax.custom_vjp
def lstm_layer(x: Array, kernel_ih: Array, kernel_hh: Array, bias: Array) -> Array:
    """The states of an LSTM layer that starts from zero. One product projects all inputs, then there is one per step.

    Args:
        x: x_t, [steps, batch, features].
        kernel_ih: W, [features, 4 · hidden].
        kernel_hh: U, [hidden, 4 · hidden].
        bias: b, [4 · hidden].

    Returns:
        h_t, [steps, batch, hidden].
    """
    return _forward(x, kernel_ih, kernel_hh, bias)[0]


def _forward(x: Array, kernel_ih: Array, kernel_hh: Array, bias: Array) -> tuple[Array, tuple[Array, ...]]:
    def step(carry: Rows, projected: Array, _: Rows) -> tuple[Rows, Array, Rows]:
        state, cell = carry
        gates = _activate(projected + state @ kernel_hh)
        i, f, g, o = jnp.split(gates, GATES, axis=-1)
        cell = f * cell + i * g
        state = o * jnp.tanh(cell)
        return (state, cell), gates, (state, cell)

    steps, batch, _ = x.shape
    projected = (_rows(x) @ kernel_ih + bias[None]).reshape(steps, batch, -1)
    start = jnp.zeros((batch, kernel_hh.shape[0]), projected.dtype)
    gates, (states, cells) = _replace_rows(step, (start, start), projected, ())
    return states, (x, kernel_ih, kernel_hh, states, gates, cells)


def _backward(saved: tuple[Array, ...], d_states: Array) -> tuple[Array, ...]:
    x, kernel_ih, kernel_hh, states, gates, cells = saved
    transposed = kernel_hh.T
    i, f, g, o = jnp.split(gates, GATES, axis=-1)
    squashed = jnp.tanh(cells)
    # The factors of all steps are computed at once. Inside the loop they would take many small passes.
    to_cell = o * (1 - squashed**2)
    by_cell = (g * i * (1 - i), _delayed(cells) * f * (1 - f), i * (1 - g**2))
    to_gates = jnp.concatenate([*by_cell, squashed * o * (1 - o)], axis=-1)

    def step(carry: Rows, to_gates: Array, at_step: Rows) -> tuple[Rows, Array, Rows]:
        d_state, d_cell = carry
        to_cell, f, d_output = at_step
        d_state = d_state + d_output
        d_cell = d_cell + d_state * to_cell
        d_sum = to_gates * jnp.concatenate([d_cell, d_cell, d_cell, d_state], axis=-1)
        return (d_sum @ transposed, d_cell * f), d_sum, ()

    zero = jnp.zeros_like(d_states[0])
    d_sums, _ = _replace_rows(step, (zero, zero), to_gates, (to_cell, f, d_states), reverse=True)
    d_rows = _rows(d_sums)
    d_x = (d_rows @ kernel_ih.T).reshape(x.shape)
    return d_x, _rows(x).T @ d_rows, _rows(_delayed(states)).T @ d_rows, d_rows.sum(axis=0)


lstm_layer.defvjp(_forward, _backward)


Rows = tuple[Array, ...]
Step = Callable[[Rows, Array, Rows], tuple[Rows, Array, Rows]]
"""(carry, row of the table, rows of the inputs) -> (carry, new row of the table, rows of the outputs)."""


def _replace_rows(step: Step, carry: Rows, table: Array, inputs: Rows, reverse: bool = False) -> tuple[Array, Rows]:
    """A loop over time that replaces every row of a table.

    Args:
        step: what happens at one step.
        carry: what the first step starts from.
        table: [steps, ...].
        inputs: arrays [steps, ...].
        reverse: whether to start at the last step.

    Returns:
        The new table [steps, ...] and the outputs, arrays [steps, ...].
    """

    def scanned(carry: Rows, table: Array, inputs: Rows) -> tuple[Array, Rows]:
        def one(carry: Rows, rows: tuple[Array, Rows]):
            carry, row, outputs = step(carry, *rows)
            return carry, (row, outputs)

        return jax.lax.scan(one, carry, (table, inputs), reverse=reverse)[1]

    def in_place(carry: Rows, table: Array, inputs: Rows) -> tuple[Array, Rows]:
        steps = table.shape[0]

        def one(index: Array, loop: tuple[Rows, Array, Rows]):
            carry, table, outputs = loop
            t = steps - 1 - index if reverse else index
            row, at_step = jax.tree.map(lambda x: jax.lax.dynamic_index_in_dim(x, t, keepdims=False), (table, inputs))
            carry, *new = step(carry, row, at_step)
            return carry, *jax.tree.map(
                lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y[None], t, 0), (table, outputs), tuple(new)
            )

        first = jax.tree.map(lambda x: x[0], (table, inputs))
        shapes = jax.eval_shape(step, carry, *first)[2]
        outputs = jax.tree.map(lambda row: jnp.zeros((steps, *row.shape), row.dtype), shapes)
        return jax.lax.fori_loop(0, steps, one, (carry, table, outputs))[1:]

    # A CPU core overwrites a table in its cache faster than it fills the new, zeroed table of a scan. Under `vmap` over
    # several clients XLA would copy the table at every step, but `Model.cpu_chunk` gives a core one client at a time.
    return jax.lax.platform_dependent(carry, table, inputs, cpu=in_place, default=scanned)


def _rows(x: Array) -> Array:
    """[steps, batch, features] -> [steps · batch, features]."""
    return x.reshape(-1, x.shape[-1])


def _activate(z: Array) -> Array:
    """σ, σ, tanh, σ of the four gates [..., 4 · hidden]. One tanh is enough, because σ(z) = ½ tanh(½ z) + ½."""
    hidden = z.shape[-1] // GATES
    scale = np.repeat(np.array([0.5, 0.5, 1, 0.5], z.dtype), hidden)[None]
    shift = np.repeat(np.array([0.5, 0.5, 0, 0.5], z.dtype), hidden)[None]
    return jnp.tanh(z * scale) * scale + shift


def _delayed(x: Array) -> Array:
    """[steps, ...] -> the values of the step before, zero for the first step."""
    return jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])
