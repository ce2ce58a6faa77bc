"""The global model on the test set."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax import tree
from fedcos_jax.engine.experiment import Federation
from fedcos_jax.types import Array, Params


class Evaluation(NamedTuple):
    """The global model on the test set."""

    accuracy: Array
    """Share of test rows predicted right, in [0, 1]."""
    loss: Array
    """Mean loss over the test rows."""


def evaluate(params: Params, federation: Federation) -> Evaluation:
    """Accuracy and mean loss over all test rows, in batches that the devices share."""
    data, model, shapes = federation.data, federation.model, federation.shapes
    rows = data.test.y.shape[0]

    def add_batch(sums: Evaluation, start: Array) -> tuple[Evaluation, None]:
        positions = start + jnp.arange(min(shapes.eval_batch, rows), dtype=jnp.int32)
        mask = positions < rows
        chosen = jnp.where(mask, positions, 0)
        outputs = model.apply(params, data.preprocess(data.test.x[chosen], None), None)
        correct, losses = model.correct(outputs, data.test.y[chosen]), model.loss(outputs, data.test.y[chosen])
        masked = (jnp.where(mask, values.astype(zero.dtype), 0).sum() for values in (correct, losses))
        return tree.add(sums, Evaluation(*masked)), None

    zero = jnp.zeros((), tree.sum_type(params))
    (starts,) = shapes.placement.share((jnp.arange(0, rows, shapes.eval_batch, dtype=jnp.int32),), padding=(rows,))
    sums, _ = jax.lax.scan(add_batch, Evaluation(zero, zero), starts)
    return jax.tree.map(lambda total: total / rows, shapes.placement.total(sums))
