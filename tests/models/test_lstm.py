"""The LSTM: parameters, initialisation, scores, and which inputs are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models
from fedcos_jax.errors import InputError

KEY = jax.random.key(0)


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


def test_images_are_refused():
    with pytest.raises(InputError, match="lstm takes symbols, not inputs of shape 28x28"):
        models.build("lstm", (28, 28), 10)
