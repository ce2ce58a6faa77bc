"""Losses and metrics against NumPy, their weights, and the shapes that they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import InputError, losses

RNG = np.random.default_rng(0)


def test_cross_entropy_and_top1_of_each_example():
    logits, labels = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]), np.array([2, 1], np.int32)
    expected = [-np.log(np.exp(row[y]) / np.exp(row).sum()) for row, y in zip(logits, labels, strict=True)]
    found = losses.cross_entropy(jnp.asarray(logits, jnp.float32), jnp.asarray(labels))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert losses.top1(jnp.asarray(logits, jnp.float32), jnp.asarray(labels)).tolist() == [False, True]


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 2)])
def test_errors_of_each_row(x64, shape):
    outputs, labels = RNG.normal(size=shape), RNG.normal(size=shape)
    axes = tuple(range(1, len(shape)))
    difference = outputs - labels
    np.testing.assert_allclose(losses.squared_error(outputs, labels), (difference**2).mean(axes), rtol=1e-12)
    np.testing.assert_allclose(losses.absolute_error(outputs, labels), abs(difference).mean(axes), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int32, bool, np.float64])
def test_several_labels_per_row(x64, dtype):
    logits, labels = RNG.normal(size=(6, 4)), (RNG.random((6, 4)) < 0.5).astype(dtype)
    p, y = 1 / (1 + np.exp(-logits)), labels.astype(float)
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(1)
    np.testing.assert_allclose(losses.sigmoid_cross_entropy(jnp.asarray(logits), jnp.asarray(labels)), expected)
    right = ((logits > 0) == (y > 0)).mean(1)
    np.testing.assert_allclose(losses.label_share(jnp.asarray(logits), jnp.asarray(labels)), right)


def test_padded_tokens_do_not_count(x64):
    """Neither in the mean nor in the gradient, whatever the logits there are."""
    logits, labels = RNG.normal(size=(4, 3, 5)), RNG.integers(0, 5, (4, 3))
    labels[0, 1:] = labels[3] = -1
    real = labels >= 0
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -np.take_along_axis(logp, np.maximum(labels, 0)[..., None], -1)[..., 0]
    mask = np.array([True, True, False, True])
    counted = real & mask[:, None]

    def objective(logits):
        return losses.mean(losses.token_cross_entropy(logits, jnp.asarray(labels)), jnp.asarray(mask))

    value, gradient = jax.value_and_grad(objective)(jnp.asarray(logits))
    assert float(value) == pytest.approx(expected[counted].mean(), rel=1e-12)
    assert np.array_equal(np.asarray(gradient).any(-1), counted)
    right = losses.mean(losses.token_top1(jnp.asarray(logits), jnp.asarray(labels)), jnp.asarray(mask))
    assert float(right) == pytest.approx((logits.argmax(-1) == labels)[counted].mean())


def test_a_batch_of_padding_alone_has_no_loss_and_no_gradient():
    labels = jnp.full((2, 3), -1)

    def objective(logits):
        return losses.mean(losses.token_cross_entropy(logits, labels), jnp.array([True, True]))

    value, gradient = jax.value_and_grad(objective)(jnp.ones((2, 3, 4)))
    assert float(value) == 0
    assert not np.asarray(gradient).any()


def test_a_value_without_weight_may_be_nan():
    values = losses.Weighted(jnp.array([[1.0, jnp.nan], [3.0, 5.0]]), jnp.array([[1, 0], [2, 1]]))
    assert float(losses.mean(values, jnp.array([True, True]))) == (1 + 6 + 5) / 4


@pytest.mark.parametrize("loss", [losses.squared_error, losses.absolute_error, losses.sigmoid_cross_entropy])
def test_shapes_that_would_broadcast_are_refused(loss):
    with pytest.raises(InputError, match=r"got \[5, 1\] and \[5\].*x\[\.\.\., 0\]"):
        loss(jnp.ones((5, 1)), jnp.ones(5))


def test_values_must_be_one_per_row():
    mask = jnp.array([True, True])
    with pytest.raises(InputError, match=r"one value per row, \[batch\], not values of shape \[2, 3\]"):
        losses.mean(jnp.ones((2, 3)), mask)
    with pytest.raises(InputError, match=r"a weight for each value, got shapes \[2, 3\] and \[2\]"):
        losses.mean(losses.Weighted(jnp.ones((2, 3)), jnp.ones(2)), mask)
