"""The model type: three pure functions, which any flax module fits in one line."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from fedcos_jax.types import Array, Params


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Softmax cross-entropy of each example, [batch]."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def top1(logits: Array, labels: Array) -> Array:
    """Whether the most likely class is the label, [batch]."""
    return jnp.argmax(logits, axis=-1) == labels


class Model(NamedTuple):
    """A model as pure functions of its parameters."""

    init: Callable[[Array], Params]
    """key -> parameters."""
    apply: Callable[[Params, Array, Array | None], Array]
    """(parameters, inputs [batch, ...], key) -> outputs [batch, ...]; the key is None at evaluation."""
    loss: Callable[[Array, Array], Array] = cross_entropy
    """(outputs, labels) -> loss of each example [batch]."""
    correct: Callable[[Array, Array], Array] = top1
    """(outputs, labels) -> whether each example is right [batch]."""
    cpu_chunk: int | None = None
    """Clients to train at once on a CPU core unless the schedule says otherwise; None for as many as fit its cache."""


@functools.cache
def from_flax(
    module: nn.Module, input_shape: tuple[int, ...], input_dtype: str = "float32", cpu_chunk: int | None = None
) -> Model:
    """The model of a flax.linen module whose `__call__` takes (inputs, train).

    Equal modules give the same object, so compiled programs are shared.

    Args:
        module: e.g. `MLP(classes=10)`; draws its dropout from the rng stream "dropout".
        input_shape: of one example, without the batch.
        input_dtype: of the inputs after preprocessing.
        cpu_chunk: as in `Model`.
    """

    def init(key: Array) -> Params:
        return module.init(key, jnp.zeros((1, *input_shape), input_dtype), train=False)["params"]

    def apply(params: Params, x: Array, key: Array | None) -> Array:
        rngs = None if key is None else {"dropout": key}
        if jnp.issubdtype(x.dtype, jnp.floating):
            x = x.astype(jax.tree.leaves(params)[0].dtype)
        return jnp.asarray(module.apply({"params": params}, x, train=key is not None, rngs=rngs))

    return Model(init, apply, cpu_chunk=cpu_chunk)


@functools.cache
def num_parameters(model: Model) -> int:
    """Number of scalars in the model's parameters, without computing them."""
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))
