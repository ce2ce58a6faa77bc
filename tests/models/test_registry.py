"""Every row of MODELS: shapes, finite gradients, double precision, and clients together as one by one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import models
from fedcos_jax.errors import InputError
from fedcos_jax.models import MODELS
from tests.ops.comparison import quick_jit

CLASSES, BATCH = 5, 2
KEY = jax.random.key(0)
NAMES = [name for name in MODELS if name != "resnet18"]
"""The full width compiles for long. `resnet18_narrow` is the same network."""


def shape_of(name):
    """A small input that the model takes."""
    entry = MODELS[name]
    side = max(entry.smallest, 4)
    return (6,) if entry.inputs == "symbols" else (side, side, 3)


@functools.cache
def problem(name):
    """The model, its parameters, and a batch of inputs and labels."""
    shape = shape_of(name)
    model = models.build(name, shape, CLASSES)
    rng = np.random.default_rng(0)
    symbols = MODELS[name].inputs == "symbols"
    x = rng.integers(0, CLASSES, (BATCH, *shape), np.int32) if symbols else rng.normal(size=(BATCH, *shape))
    return model, jax.device_get(quick_jit(model.init)(KEY)), x, np.arange(BATCH, dtype=np.int32)


def gradient(model, params, x, y, key):
    """Outputs, and the gradient of the mean loss."""

    def loss(params):
        outputs = model.apply(params, x, key)
        return model.loss(outputs, y).mean(), outputs

    grad, outputs = jax.grad(loss, has_aux=True)(params)
    return outputs, grad


@pytest.mark.parametrize("name", MODELS)
def test_shapes(name):
    shape = shape_of(name)
    model = models.build(name, shape, CLASSES)
    params = jax.eval_shape(model.init, KEY)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    assert models.num_parameters(model) == sum(leaf.size for leaf in jax.tree.leaves(params))
    assert model.cpu_chunk == MODELS[name].cpu_chunk
    dtype = jnp.int32 if MODELS[name].inputs == "symbols" else jnp.float32
    for key in (None, KEY):
        apply = functools.partial(model.apply, key=key)
        outputs = jax.eval_shape(apply, params, jax.ShapeDtypeStruct((BATCH, *shape), dtype))
        assert (outputs.shape, outputs.dtype) == ((BATCH, CLASSES), jnp.float32)


@pytest.mark.parametrize("name", NAMES)
def test_clients_together_are_clients_one_by_one(name):
    """The gradient of a training step is also finite and reaches every parameter."""
    model, params, x, y = problem(name)
    both = jax.tree.map(lambda leaf: np.stack([leaf, 0.5 * leaf]), params)
    x = x if MODELS[name].inputs == "symbols" else x.astype(np.float32)
    xs, ys, keys = np.stack([x, x[::-1]]), np.stack([y, y]), jax.random.split(KEY, 2)
    client = functools.partial(gradient, model)
    together, one = quick_jit(jax.vmap(client))(both, xs, ys, keys), quick_jit(client)
    for i in range(2):
        alone = one(jax.tree.map(lambda leaf, i=i: leaf[i], both), xs[i], ys[i], keys[i])
        for path, leaf in jax.tree_util.tree_leaves_with_path(alone):
            assert np.isfinite(leaf).all(), path
            assert np.any(leaf), path
        jax.tree.map(
            lambda a, b, i=i: np.testing.assert_allclose(a[i], b, rtol=1e-4, atol=1e-5 * np.abs(b).max()),
            together,
            alone,
        )


@pytest.mark.parametrize("name", NAMES)
def test_double_precision(name, x64):
    """Everything is float64, and the gradient is the slope of the loss along itself."""
    model, params, x, y = problem(name)
    assert {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(model.init, KEY))} == {jnp.dtype("float32")}
    params = jax.tree.map(lambda leaf: leaf.astype(np.float64), params)
    client = quick_jit(functools.partial(gradient, model))
    outputs, grad = client(params, x, y, None)
    assert {leaf.dtype for leaf in jax.tree.leaves((outputs, grad))} == {jnp.dtype("float64")}

    def loss(step):
        moved = jax.tree.map(lambda leaf, slope: leaf + step * np.asarray(slope), params, grad)
        return float(model.loss(client(moved, x, y, None)[0], jnp.asarray(y)).mean())

    squares = sum(float(np.square(leaf).sum()) for leaf in jax.tree.leaves(grad))
    step = 1e-8 / squares**0.5
    assert (loss(step) - loss(-step)) / (2 * step) == pytest.approx(squares, rel=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_equal_names_are_one_model(name):
    assert models.build(name, shape_of(name), CLASSES) is models.build(name, shape_of(name), CLASSES)


def test_lenet_is_another_name_of_cnn():
    assert models.build("lenet", (32, 32, 3), 10) is models.build("cnn", (32, 32, 3), 10)


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if entry.smallest > 1])
def test_small_images_are_refused(name):
    with pytest.raises(InputError, match=f"{name} needs images of at least 16x16, got 15x16"):
        models.build(name, (15, 16), 10)


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if entry.inputs == "images"])
def test_rows_of_numbers_are_refused_by_networks_for_images(name):
    with pytest.raises(InputError, match=rf"{name} takes images, not inputs of shape 60 \(those fit: mlp, lstm\)"):
        models.build(name, (60,), 10)


def test_unknown_model():
    with pytest.raises(InputError, match="unknown model 'mlq'; did you mean 'mlp'"):
        models.build("mlq", (8, 8), 10)
