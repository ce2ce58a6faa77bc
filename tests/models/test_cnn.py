"""The convolutional networks: parameters, shapes, dropout, and which images are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models

KEY = jax.random.key(0)


@pytest.mark.parametrize("name", ["cnn", "lenet"])
def test_cnn_has_the_papers_parameters(name):
    convolutions = (5 * 5 * 3 * 6 + 6) + (5 * 5 * 6 * 16 + 16)
    dense = (5 * 5 * 16 * 120 + 120) + (120 * 84 + 84) + (84 * 10 + 10)
    assert models.num_parameters(models.build(name, (32, 32, 3), 10)) == convolutions + dense == 62_006


def test_the_cnn_of_the_papers_text_has_two_dense_layers():
    convolutions = (5 * 5 * 3 * 6 + 6) + (5 * 5 * 6 * 16 + 16)
    dense = (5 * 5 * 16 * 120 + 120) + (120 * 10 + 10)
    assert models.num_parameters(models.build("cnn_two_dense", (32, 32, 3), 10)) == convolutions + dense == 52_202


def test_fmnist_cnn_has_the_papers_parameters():
    convolutions = (5 * 5 * 1 * 10 + 10) + (5 * 5 * 10 * 20 + 20)
    dense = (4 * 4 * 20 * 50 + 50) + (50 * 10 + 10)
    assert models.num_parameters(models.build("cnn_fmnist", (28, 28), 10)) == convolutions + dense == 21_840


@pytest.mark.parametrize("name", ["cnn", "cnn_two_dense", "cnn_fmnist"])
@pytest.mark.parametrize("shape", [(32, 32, 3), (28, 28, 1), (28, 28), (16, 16)])
def test_scores_for_any_image(name, shape):
    model = models.build(name, shape, 7)
    assert jax.eval_shape(lambda: model.apply(model.init(KEY), jnp.ones((3, *shape)), KEY)).shape == (3, 7)


def test_grayscale_images_need_no_channel_axis():
    model = models.build("cnn_fmnist", (28, 28), 10)
    params, x = jax.jit(model.init)(KEY), jax.random.normal(KEY, (2, 28, 28))
    np.testing.assert_array_equal(model.apply(params, x, None), model.apply(params, x[..., None], None))


def test_torch_initialisation_has_the_fan_in_of_the_window():
    params = jax.jit(models.build("cnn", (32, 32, 3), 10).init)(KEY)
    for name, fan_in in (("Conv_0", 5 * 5 * 3), ("Conv_1", 5 * 5 * 6), ("Dense_0", 5 * 5 * 16)):
        bound = fan_in**-0.5
        assert 0.95 * bound < np.abs(params[name]["kernel"]).max() <= bound
        assert 0 < np.abs(params[name]["bias"]).max() <= bound


def test_dropout_of_the_fmnist_cnn_acts_in_training_only():
    model = models.build("cnn_fmnist", (28, 28), 10)
    params, x = jax.jit(model.init)(KEY), jax.random.normal(KEY, (2, 28, 28))
    one, other = (model.apply(params, x, jax.random.key(seed)) for seed in (1, 2))
    assert not np.allclose(one, other)
    without = models.from_flax(models.FMNISTCNN(dropout=0.0), (28, 28))
    np.testing.assert_array_equal(model.apply(params, x, None), without.apply(params, x, KEY))


def test_cnn_computes_the_same_in_training():
    model = models.build("cnn", (32, 32, 3), 10)
    params, x = jax.jit(model.init)(KEY), jax.random.normal(KEY, (2, 32, 32, 3))
    np.testing.assert_array_equal(model.apply(params, x, KEY), model.apply(params, x, None))
