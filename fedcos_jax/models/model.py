"""The model type: pure functions of the parameters. Any flax module becomes one in one line."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax.models.losses import ACCURACY, Metric, Values, cross_entropy
from fedcos_jax.types import Array, Params


class Model(NamedTuple):
    """A model as pure functions of its parameters."""

    init: Callable[[Array], Params]
    """(key) -> parameters."""
    apply: Callable[[Params, Array, Array | None], Array]
    """(parameters, inputs [batch, ...], key) -> outputs [batch, ...]. The key is None at evaluation."""
    loss: Callable[[Array, Array], Values] = cross_entropy
    """(outputs [batch, ...], labels [batch, ...]) -> loss of each example [batch], or `Weighted` losses. A client
    minimises their mean over its mini-batch."""
    metrics: tuple[Metric, ...] = (ACCURACY,)
    """What an evaluation measures besides the loss. It may be empty."""
    cpu_chunk: int | None = None
    """Clients that a CPU core trains at once, unless the schedule says otherwise. None for as many as fit its cache."""


# The caches below are bounded, because the functions of a model may hold parameters.
@functools.lru_cache(maxsize=64)
def from_flax(
    module: nn.Module, input_shape: tuple[int, ...], input_dtype: str = "float32", cpu_chunk: int | None = None
) -> Model:
    """The model of a flax.linen module whose `__call__` takes (inputs, train).

    Equal modules give the same object, so that they share compiled programs.

    Args:
        module: e.g. `MLP(classes=10)`. It draws its dropout from the rng stream "dropout".
        input_shape: shape of one example, without the batch.
        input_dtype: dtype of the inputs after preprocessing.
        cpu_chunk: as in `Model`.

    Example:
        >>> model = fc.from_flax(fc.models.MLP(classes=10), (28, 28))
        >>> params = model.init(jax.random.key(0))
    """

    def init(key: Array) -> Params:
        return module.init(key, jnp.zeros((1, *input_shape), input_dtype), train=False)["params"]

    def apply(params: Params, x: Array, key: Array | None) -> Array:
        rngs = None if key is None else {"dropout": key}
        if jnp.issubdtype(x.dtype, jnp.floating):
            x = x.astype(jax.tree.leaves(params)[0].dtype)
        return jnp.asarray(module.apply({"params": params}, x, train=key is not None, rngs=rngs))

    return Model(init, apply, cpu_chunk=cpu_chunk)


@functools.lru_cache(maxsize=8)
def num_parameters(model: Model) -> int:
    """Number of scalars in the model's parameters. They are not computed."""
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))
