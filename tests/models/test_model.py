"""The model type: any flax module, one object per equal module, bounded caches."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax import models

KEY = jax.random.key(0)


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


def test_equal_modules_of_ones_own_are_one_model():
    first = models.from_flax(models.MLP(classes=3, hidden=7), (5,))
    assert models.from_flax(models.MLP(classes=3, hidden=7), (5,)) is first
    assert models.from_flax(models.MLP(classes=3, hidden=8), (5,)) is not first
    assert models.from_flax(models.MLP(classes=3, hidden=7), (6,)) is not first


def test_caches_do_not_keep_every_model_alive():
    assert 0 < models.num_parameters.cache_info().maxsize <= 64


def test_parameters_are_counted_without_being_computed():
    def init(key):
        assert isinstance(key, jax.core.Tracer)
        return {"w": jnp.zeros((3, 4)), "b": jnp.zeros(4)}

    assert models.num_parameters(models.Model(init, lambda params, x, key: x)) == 16
