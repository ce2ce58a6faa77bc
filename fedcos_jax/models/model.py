"""The model type: pure functions of the parameters."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from fedcos_jax.types import Array, Params


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


class Model(NamedTuple):
    """A model as pure functions of its parameters."""

    init: Callable[[Array], Params]
    """(key) -> parameters."""
    apply: Callable[[Params, Array, Array | None], Array]
    """(parameters, inputs [batch, ...], key) -> outputs [batch, ...]. The key is None at evaluation."""
    loss: Callable[[Array, Array], Array] = cross_entropy
    """(outputs [batch, ...], labels [batch]) -> loss of each example [batch]."""
    correct: Callable[[Array, Array], Array] = top1
    """(outputs [batch, ...], labels [batch]) -> whether each example is right [batch]."""
    cpu_chunk: int | None = None
    """Clients that a CPU core trains at once, unless the schedule says otherwise. None for as many as fit its cache."""


# The cache is bounded, because the functions of a model may hold parameters.
@functools.lru_cache(maxsize=8)
def num_parameters(model: Model) -> int:
    """Number of scalars in the model's parameters. They are not computed."""
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))
