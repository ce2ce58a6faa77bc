"""The LSTM: parameters, its recurrence against a plain loop, and its gradient against JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models
from fedcos_jax.errors import InputError
from fedcos_jax.models.lstm import lstm_layer

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


def test_lstm_has_the_papers_parameters():
    layers = [4 * 100 * (inputs + 100) + 2 * 4 * 100 for inputs in (8, 100)]
    total = 80 * 8 + sum(layers) + 100 * 80 + 80
    assert models.num_parameters(models.build("lstm", (80,), 80)) == total == 133_520


def test_scores_of_the_next_character():
    model = models.build("lstm", (80,), 80)
    x = jax.random.randint(KEY, (3, 80), 0, 80)
    params = jax.jit(model.init)(KEY)
    outputs = model.apply(params, x, KEY)
    assert outputs.shape == (3, 80)
    np.testing.assert_array_equal(outputs, model.apply(params, x.astype(jnp.uint8), None))


def test_torch_initialisation():
    params = jax.jit(models.build("lstm", (80,), 80).init)(KEY)
    assert params["Embed_0"]["embedding"].std() == pytest.approx(1, abs=0.1)
    for layer in ("LSTMLayer_0", "LSTMLayer_1"):
        for name, leaf in params[layer].items():
            assert 0.098 < np.abs(leaf).max() <= 0.1, name


def test_flax_initialisation_is_an_option():
    params = jax.jit(models.from_flax(models.LSTM(torch_init=False), (5,), "int32").init)(KEY)
    assert not params["LSTMLayer_0"]["bias_ih"].any()


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


def test_images_are_refused():
    with pytest.raises(InputError, match="lstm takes symbols, not inputs of shape 28x28"):
        models.build("lstm", (28, 28), 10)
