"""The model type: any flax module, one object per equal module, bounded caches, loss and accuracy."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

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


def test_loss_and_accuracy_of_each_example():
    logits, labels = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]), np.array([2, 1], np.int32)
    expected = [-np.log(np.exp(row[y]) / np.exp(row).sum()) for row, y in zip(logits, labels, strict=True)]
    found = models.cross_entropy(jnp.asarray(logits, jnp.float32), jnp.asarray(labels))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert models.top1(jnp.asarray(logits, jnp.float32), jnp.asarray(labels)).tolist() == [False, True]
