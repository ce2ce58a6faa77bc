"""The LSTM layer: its recurrence against a plain loop, and its gradient against JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax.ops.lstm import lstm_layer

KEY = jax.random.key(0)


def plain_layer(x, kernel_ih, kernel_hh, bias):
    """The equations step by step, gate by gate."""
    hidden = kernel_hh.shape[0]
    state = cell = jnp.zeros((x.shape[1], hidden))
    states = []
    for inputs in x:
        z = inputs @ kernel_ih + state @ kernel_hh + bias[None]
        i, f, g, o = (z[:, k * hidden : (k + 1) * hidden] for k in range(4))
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        state = jax.nn.sigmoid(o) * jnp.tanh(cell)
        states.append(state)
    return jnp.stack(states)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("clients", [None, 3])
def test_layer_and_its_gradient(clients):
    shapes = ((6, 2, 3), (3, 4 * 5), (5, 4 * 5), (4 * 5,))
    keys = jax.random.split(KEY, 5)
    lead = () if clients is None else (clients,)
    arguments = [jax.random.normal(key, lead + shape) for key, shape in zip(keys[:4], shapes, strict=True)]
    weights = jax.random.normal(keys[4], (6, 2, 5))

    def values_and_gradients(layer):
        def both(*arguments):
            loss = lambda *args: jnp.sum(weights * layer(*args))  # noqa: E731
            return layer(*arguments), jax.grad(loss, argnums=(0, 1, 2, 3))(*arguments)

        return jax.jit(both if clients is None else jax.vmap(both))(*arguments)

    computed, expected = values_and_gradients(lstm_layer), values_and_gradients(plain_layer)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), computed, expected)
