"""ResNet18: parameters of the full width, shapes and groups of a narrow one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models
from fedcos_jax.models.resnet import group_norm

KEY = jax.random.key(0)


def block_parameters(before: int, after: int) -> int:
    """Two 3x3 convolutions with a scale and a shift per channel, and a 1x1 shortcut if the width changes."""
    main = 9 * before * after + 2 * after + 9 * after * after + 2 * after
    return main + (before * after + 2 * after if before != after else 0)


@pytest.mark.parametrize(("classes", "total"), [(10, 11_173_962), (100, 11_220_132)])
def test_full_width_has_the_parameters_of_resnet18(classes, total):
    stem = 9 * 3 * 64 + 2 * 64
    changes = [(64, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512)]
    blocks = sum(block_parameters(before, after) for before, after in changes)
    head = 512 * classes + classes
    model = models.build("resnet18", (32, 32, 3), classes)
    assert models.num_parameters(model) == stem + blocks + head == total


def test_convolutions_have_no_bias():
    shapes = jax.eval_shape(models.build("resnet18", (32, 32, 3), 10).init, KEY)
    assert shapes["Conv_0"].keys() == shapes["Block_0"]["Conv_1"].keys() == {"kernel"}


@pytest.mark.parametrize("shape", [(8, 8, 3), (9, 10)])
def test_narrow_networks_of_any_image(shape):
    model = models.from_flax(models.ResNet18(classes=5, width=4), shape)
    outputs = jax.eval_shape(lambda: model.apply(model.init(KEY), jnp.ones((2, *shape)), KEY))
    assert outputs.shape == (2, 5)


@pytest.mark.parametrize(("channels", "groups"), [(64, 16), (512, 16), (16, 16), (8, 8), (24, 8), (3, 1)])
def test_sixteen_groups_where_the_channels_allow(channels, groups):
    layer = group_norm(channels)
    assert layer.num_groups == groups
    x = jax.random.normal(KEY, (2, 4, 4, channels)) * 3 + 1
    normalised = np.asarray(layer.apply(layer.init(KEY, x), x)).reshape(2, 16, groups, -1)
    np.testing.assert_allclose(normalised.mean(axis=(1, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(normalised.std(axis=(1, 3)), 1, atol=1e-4)


def test_strides_halve_the_image_three_times():
    shapes = jax.eval_shape(
        lambda: models.ResNet18(width=8).init_with_output(KEY, jnp.zeros((1, 32, 32, 3)), capture_intermediates=True)
    )[1]["intermediates"]
    sizes = [shapes[f"Block_{i}"]["__call__"][0].shape[1:] for i in range(8)]
    assert sizes == [(32, 32, 8)] * 2 + [(16, 16, 16)] * 2 + [(8, 8, 32)] * 2 + [(4, 4, 64)] * 2
