"""The models, their initialisation and their dropout."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models
from fedcos_jax.errors import InputError
from fedcos_jax.ops.layers import Dropout, random_mask

KEY = jax.random.key(0)


def test_mlp_has_the_papers_parameters():
    assert models.num_parameters(models.build("mlp", (28, 28), 10)) == 784 * 200 + 200 + 200 * 10 + 10 == 159_010


def test_torch_initialisation_fills_its_bounds():
    params = models.build("mlp", (28, 28), 10).init(KEY)
    for name, fan_in in (("Dense_0", 784), ("Dense_1", 200)):
        bound = fan_in**-0.5
        kernel, bias = np.asarray(params[name]["kernel"]), np.asarray(params[name]["bias"])
        assert 0.99 * bound < np.abs(kernel).max() <= bound
        assert kernel.std() == pytest.approx(bound / 3**0.5, rel=0.05)
        assert 0 < np.abs(bias).max() <= bound


def test_flax_initialisation_is_an_option():
    params = models.from_flax(models.MLP(torch_init=False), (8, 8)).init(KEY)
    assert not params["Dense_0"]["bias"].any()


def test_mlp_computes_what_it_says():
    model = models.build("mlp", (4, 4), 3)
    params = model.init(KEY)
    x = np.random.default_rng(0).normal(size=(5, 4, 4)).astype(np.float32)
    first, second = params["Dense_0"], params["Dense_1"]
    hidden = np.maximum(x.reshape(5, 16) @ first["kernel"] + first["bias"][None], 0)
    expected = hidden @ second["kernel"] + second["bias"][None]
    np.testing.assert_allclose(model.apply(params, x, None), expected, rtol=1e-5, atol=1e-5)


def test_dropout_acts_in_training_only():
    model = models.build("mlp", (4, 4), 3)
    params, x = model.init(KEY), jnp.ones((2, 4, 4))
    assert not np.allclose(model.apply(params, x, KEY), model.apply(params, x, jax.random.key(1)))
    np.testing.assert_array_equal(model.apply(params, x, None), model.apply(params, x, None))


def test_dropout_keeps_the_mean():
    layer = Dropout(0.3)
    dropped = np.asarray(layer.apply({}, jnp.ones((500, 400)), True, rngs={"dropout": KEY}))
    np.testing.assert_allclose(np.unique(dropped), [0, 1 / 0.7], rtol=1e-6)
    assert dropped.mean() == pytest.approx(1, abs=0.01)
    np.testing.assert_array_equal(layer.apply({}, jnp.ones((3, 3)), False), np.ones((3, 3)))


@pytest.mark.parametrize("probability", [0.0, 0.5, 0.25, 0.75, 0.1, 0.9, 0.3337, 1.0])
def test_masks_have_their_probability_everywhere(probability):
    mask = np.asarray(random_mask(KEY, probability, (1000, 333)))
    assert mask.shape == (1000, 333)
    tolerance = 5 * (probability * (1 - probability) / mask.size) ** 0.5 + 2**-16
    assert mask.mean() == pytest.approx(probability, abs=tolerance)
    columns = np.abs(mask.mean(0) - probability).max()
    assert columns <= 5 * (probability * (1 - probability) / 1000) ** 0.5 + 2**-16


def test_neighbours_in_a_mask_are_independent():
    mask = np.asarray(random_mask(KEY, 0.3, (100_000,))).astype(float)
    for shift in (1, 2, 31, 32, 33):
        assert abs(np.corrcoef(mask[:-shift], mask[shift:])[0, 1]) < 0.02


def test_equal_modules_are_one_model():
    assert models.build("mlp", (8, 8), 10) is models.build("mlp", (8, 8), 10)


def test_any_flax_module_fits():
    class Linear(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            return nn.Dense(4)(x)

    model = models.from_flax(Linear(), (6,))
    params = model.init(KEY)
    outputs = model.apply(params, jnp.ones((2, 6)), KEY)
    assert outputs.shape == (2, 4)
    assert model.loss(outputs, jnp.array([0, 3])).shape == (2,)


def test_unknown_model():
    with pytest.raises(InputError, match="unknown model 'mlq'; did you mean 'mlp'"):
        models.build("mlq", (8, 8), 10)
