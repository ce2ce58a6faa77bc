"""The model type: pure functions of the parameters."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax

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


# The cache is bounded, because the functions of a model may hold parameters.
@functools.lru_cache(maxsize=8)
def num_parameters(model: Model) -> int:
    """Number of scalars in the model's parameters. They are not computed."""
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))
