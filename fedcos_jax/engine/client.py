"""One client's local training, written for a single client. The caller vmaps it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from fedcos_jax import tree
from fedcos_jax.engine.experiment import Federation
from fedcos_jax.engine.sampling import epoch_batch
from fedcos_jax.models import losses
from fedcos_jax.types import Array, LocalContext, LocalMove, Params

Carry = tuple[Params, optax.OptState, Array, Params | None]
"""Parameters, optimizer state, the sum of losses and, if clients remember something, the sum of gradients."""


class LocalTask(NamedTuple):
    """What one client is told to do in a round."""

    context: LocalContext
    num_steps: Array
    """Local steps to take."""
    steps_taken: Array
    """Local steps that the client did in earlier rounds."""
    order_key: Array
    """The client's key for the order of its data, the same in every round."""
    noise_key: Array
    """The key of this (round, client) pair for dropout and augmentation."""


def train_client(
    task: LocalTask, federation: Federation, optimizer: optax.GradientTransformation, limit: Array | int
) -> tuple[LocalMove, Array]:
    """Algorithm 1, line 4: steps of SGD on L_i(x) = f_i(x) + penalty(x), starting from the global model.

    Args:
        task: what to do.
        federation: with which penalty, data and model.
        optimizer: of this client in this round.
        limit: number of steps after which every client of the caller's `vmap` is done.

    Returns:
        The client's move, and the mean of L_i over its steps.
    """
    context, data, model = task.context, federation.data, federation.model
    penalty, batch_size = federation.method.penalty, federation.shapes.batch_size
    first_row = data.offsets[context.client]
    rows = data.size_of(context.client)

    remembers = bool(jax.tree.leaves(context.client_memory))
    loss_type = tree.sum_type(context.start)

    def step(index: Array, carry: Carry) -> Carry:
        params, state, total_loss, total_gradient = carry
        positions, mask = epoch_batch(task.order_key, rows, task.steps_taken + index, batch_size)
        chosen = data.indices[first_row + positions]
        augment_key, dropout_key = jax.random.split(jax.random.fold_in(task.noise_key, index))
        x = data.preprocess(data.train.x[chosen], augment_key)
        y = data.train.y[chosen]

        def objective(params: Params) -> Array:
            mean = losses.mean(model.loss(model.apply(params, x, dropout_key), y), mask)
            return mean + penalty.value(params, context).astype(mean.dtype)

        loss, gradient = jax.value_and_grad(objective)(params)
        with jax.numpy_dtype_promotion("standard"):  # optax relies on it
            updates, next_state = optimizer.update(gradient, state, params)
        total_gradient = tree.add(total_gradient, gradient) if remembers else None
        stepped = (
            optax.apply_updates(params, updates),
            next_state,
            total_loss + loss.astype(loss_type),
            total_gradient,
        )
        return jax.tree.map(lambda new, old: jnp.where(index < task.num_steps, new, old), stepped, carry)

    no_gradient = tree.zeros_like(context.start) if remembers else None
    start = (context.start, optimizer.init(context.start), jnp.zeros((), loss_type), no_gradient)
    params, _, total_loss, total_gradient = jax.lax.fori_loop(0, limit, step, start)
    steps = jnp.maximum(task.num_steps, 1)
    gradient = tree.divide(total_gradient, steps) if remembers else None
    return LocalMove(tree.sub(params, context.start), gradient), total_loss / steps.astype(loss_type)
