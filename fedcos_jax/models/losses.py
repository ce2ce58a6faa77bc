"""Losses and metrics of a model: what its outputs are compared with, and how the comparison is counted.

A loss or a metric gives one value per row, and every row counts once. If it gives `Weighted` values, their weights say
how much each one counts. The mean over tokens is such a mean: a padded token has the weight 0.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax.numpy as jnp
import optax
from jax.typing import DTypeLike

from fedcos_jax.errors import require
from fedcos_jax.types import Array


class Weighted(NamedTuple):
    """Values, and how much each one counts in a mean."""

    values: Array
    """[batch, ...]."""
    weights: Array
    """[batch, ...], at least 0. A value of weight 0 is left out."""


Values: TypeAlias = Array | Weighted
"""One value per row [batch], or `Weighted` values [batch, ...]."""


class Metric(NamedTuple):
    """What an evaluation measures besides the loss: the mean of some values over the test rows.

    Example:
        >>> top5 = fc.Metric("top5", lambda logits, y: (jnp.argsort(logits)[:, -5:] == y[:, None]).any(1), share=True)
    """

    name: str
    """Its name in histories, files and logs."""
    values: Callable[[Array, Array], Values]
    """(outputs [batch, ...], labels [batch, ...]) -> values [batch], or `Weighted` values."""
    share: bool = False
    """A share lies in [0, 1], the highest is best, and files have it in percent. Of any other metric the lowest is
    best."""
    finish: Callable[[Array], Array] | None = None
    """What is taken of the mean at the end, like the square root of a mean square. None to take nothing."""

    def finished(self, mean: Array) -> Array:
        """The metric, from the mean of its values."""
        return mean if self.finish is None else self.finish(mean)


def row_sums(values: Values, dtype: DTypeLike | None = None) -> tuple[Array, Array | None]:
    """Σ of weight · value in each row [batch], and Σ of the weights [batch], or None if every row counts once.

    Args:
        values: [batch], or weighted values [batch, ...].
        dtype: of the sums. None for that of the values.
    """
    if not isinstance(values, Weighted):
        require(
            values.ndim == 1,
            f"a loss or a metric gives one value per row, [batch], not values of shape {list(values.shape)}: take the "
            "mean over the other axes, or give fc.losses.Weighted(values, weights)",
        )
        return values if dtype is None else values.astype(dtype), None
    found, weights = (array if dtype is None else array.astype(dtype) for array in values)
    shapes = f"{list(found.shape)} and {list(weights.shape)}"
    require(found.shape == weights.shape, f"weighted values need a weight for each value, got shapes {shapes}")
    weights = weights.astype(found.dtype)
    return _over_row(jnp.sum, jnp.where(weights > 0, found, 0) * weights), _over_row(jnp.sum, weights)


def mean(values: Values, mask: Array) -> Array:
    """The weighted mean over the rows where the mask [batch] is True. It is 0 if nothing there has a weight."""
    total, weight = row_sums(values)
    total = jnp.sum(jnp.where(mask, total, 0))
    if weight is None:
        return total / jnp.sum(mask).astype(total.dtype)
    weight = jnp.sum(jnp.where(mask, weight, 0))
    return total / jnp.where(weight > 0, weight, 1)


def _over_row(reduce: Callable[..., Array], values: Array) -> Array:
    """A reduction over all axes but the first."""
    return reduce(values, axis=tuple(range(1, values.ndim)))


def _require_alike(what: str, outputs: Array, labels: Array) -> None:
    require(
        outputs.shape == labels.shape,
        f"{what} compares outputs and labels of one shape, got {list(outputs.shape)} and {list(labels.shape)}: "
        "end the model in labels.shape, for example with x[..., 0]",
    )


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Softmax cross-entropy of each example, -log softmax(logits)[label].

    Args:
        logits: [batch, classes].
        labels: [batch].

    Returns:
        [batch].
    """
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def top1(logits: Array, labels: Array) -> Array:
    """Whether the most likely class is the label, [batch], from logits [batch, classes] and labels [batch]."""
    return jnp.argmax(logits, axis=-1).astype(labels.dtype) == labels


def squared_error(outputs: Array, labels: Array) -> Array:
    """(output - label)² of each row, the mean over its outputs: [batch, ...] and [batch, ...] -> [batch]."""
    _require_alike("squared_error", outputs, labels)
    return _over_row(jnp.mean, jnp.square(outputs - labels.astype(outputs.dtype)))


def absolute_error(outputs: Array, labels: Array) -> Array:
    """|output - label| of each row, the mean over its outputs: [batch, ...] and [batch, ...] -> [batch]."""
    _require_alike("absolute_error", outputs, labels)
    return _over_row(jnp.mean, jnp.abs(outputs - labels.astype(outputs.dtype)))


def sigmoid_cross_entropy(logits: Array, labels: Array) -> Array:
    """-y log σ(z) - (1-y) log(1 - σ(z)) of each row, the mean over its labels.

    Args:
        logits: z, [batch, labels].
        labels: y, whether each label applies, 0 or 1, [batch, labels].

    Returns:
        [batch].
    """
    _require_alike("sigmoid_cross_entropy", logits, labels)
    return _over_row(jnp.mean, optax.sigmoid_binary_cross_entropy(logits, labels.astype(logits.dtype)))


def label_share(logits: Array, labels: Array) -> Array:
    """The share of the labels of each row that are predicted right, where logits above 0 predict a 1: -> [batch]."""
    _require_alike("label_accuracy", logits, labels)
    return _over_row(jnp.mean, ((logits > 0) == labels.astype(bool)).astype(logits.dtype))


def token_cross_entropy(logits: Array, labels: Array) -> Weighted:
    """Softmax cross-entropy of each token. The mean is over all real tokens of all rows.

    Args:
        logits: [batch, steps, vocabulary].
        labels: the right token at each step [batch, steps]. A negative one is padding.

    Returns:
        Values and weights [batch, steps].
    """
    real = labels >= 0
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(real, labels, 0))
    return Weighted(losses, real.astype(losses.dtype))


def token_top1(logits: Array, labels: Array) -> Weighted:
    """Whether the most likely token is the label at each step. Negative labels are padding, as in the loss."""
    right = top1(logits, labels).astype(jnp.float32)
    return Weighted(right, (labels >= 0).astype(jnp.float32))


ACCURACY = Metric("accuracy", top1, share=True)
"""The share of rows whose most likely class is the label."""
RMSE = Metric("rmse", squared_error, finish=jnp.sqrt)
"""The root of the mean squared error."""
MAE = Metric("mae", absolute_error)
"""The mean absolute error."""
LABEL_ACCURACY = Metric("label_accuracy", label_share, share=True)
"""The share of labels that are predicted right, for several labels per row."""
TOKEN_ACCURACY = Metric("token_accuracy", token_top1, share=True)
"""The share of real tokens that are predicted right."""
PERPLEXITY = Metric("perplexity", token_cross_entropy, finish=jnp.exp)
"""exp of the mean cross-entropy of the real tokens."""
