"""The MLP: parameters, initialisation, values and dropout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models

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
