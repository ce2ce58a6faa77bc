"""The terms that a client adds to its loss: those of FedProx, FedCos, SCAFFOLD and FedDyn, and sums of them.

A strength is a scalar, or an array [clients] with one value per client.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from fedcos_jax import tree
from fedcos_jax.errors import require_at_least
from fedcos_jax.types import Array, LocalContext, LocalMove, Memory, Params, Penalty, Scalar, ServerMove, no_memory

EPSILON = 1e-4
"""The default ε of `cosine`, which is the one of the authors' code."""


def of_client(value: Scalar, client: Array) -> Array:
    """The client's entry of a hyper-parameter, a scalar or an array [clients]. It is NaN if the array is too short."""
    value = jnp.asarray(value)
    return value if value.ndim == 0 else value.at[client].get(mode="fill", fill_value=jnp.nan)


def _keep_memory(memory: Memory, move: ServerMove) -> Memory:
    return memory


def proximal(strength: Scalar, *, half: bool = False) -> Penalty:
    """FedProx: μ ‖x - x̂‖².

    Args:
        strength: μ.
        half: use μ/2, as the FedProx paper does. The FedCos paper writes the term without the ½,
            so its FedProx(0.1) is μ = 0.2 in the FedProx paper.
    """
    require_at_least(0, **{"FedProx strength": strength})
    weight = strength / 2 if half else strength
    return Penalty(Partial(no_memory), Partial(_proximal_value, weight), Partial(_keep_memory))


def _proximal_value(weight: Scalar, params: Params, context: LocalContext) -> Array:
    distance = tree.squared_distance(params, context.start)
    return of_client(weight, context.client).astype(distance.dtype) * distance


class Direction(NamedTuple):
    """The last global move d, as the unit vector d/‖d‖ and the length ‖d‖. Both are zero before the first move."""

    unit: Params
    length: Array


def cosine(strength: Scalar, *, epsilon: Scalar = EPSILON, before_server: bool = False) -> Penalty:
    """FedCos: μ (1 - cos θ), where θ is the angle between x - x̂ and the last global move d.

    cos θ = <x - x̂, d> / sqrt(‖x - x̂‖² ‖d‖² + ε), or 1 where this is undefined.

    Args:
        strength: μ.
        epsilon: ε. The authors' code has 1e-4, which gives the gradient -μ d/sqrt(ε) at x = x̂. No other gradient of
            the term is much longer. 0 is the paper's formula to the letter. Its gradient is 0 at x = x̂ but has no bound
            near it, so that long runs can fall apart. Neither form has a penalty while d = 0.
        before_server: take d as the aggregated local moves, before the server optimizer, as the authors' code does.
            The paper takes the move of the global model. The two agree for plain averaging, have the same direction
            under a server learning rate, and differ under server momentum.
    """
    require_at_least(0, **{"FedCos strength": strength, "epsilon": epsilon})
    return Penalty(
        Partial(_no_direction),
        Partial(_cosine_value, strength, epsilon),
        Partial(_direction_of_update if before_server else _direction_of_move),
    )


def _no_direction(params: Params) -> Direction:
    return Direction(tree.zeros_like(params), jnp.zeros((), jax.tree.leaves(params)[0].dtype))


def _direction(vector: Params) -> Direction:
    length = tree.norm(vector)
    return Direction(tree.divide(vector, jnp.where(length > 0, length, 1)), length)


def _direction_of_move(memory: Direction, move: ServerMove) -> Direction:
    return _direction(move.move)


def _direction_of_update(memory: Direction, move: ServerMove) -> Direction:
    return _direction(move.update)


def _cosine_value(strength: Scalar, epsilon: Scalar, params: Params, context: LocalContext) -> Array:
    # Numerator and denominator are divided by ‖d‖, so that no product of two squared lengths can under- or overflow.
    # Both branches of each `where` must be finite: the gradient multiplies the other branch by 0, and 0 · inf is NaN.
    direction: Direction = context.server_memory
    has_direction = direction.length > 0
    softening = jnp.sqrt(jnp.asarray(epsilon, direction.length.dtype)) / jnp.where(has_direction, direction.length, 1)
    squared_length = tree.squared_distance(params, context.start) + jnp.square(softening)
    defined = has_direction & (squared_length > 0) & jnp.isfinite(squared_length)
    along = tree.dot(tree.sub(params, context.start), direction.unit)
    cos = along * jax.lax.rsqrt(jnp.where(defined, squared_length, 1))
    return of_client(strength, context.client).astype(cos.dtype) * (1 - jnp.where(defined, cos, 1))


def cosine_numbers(penalty: Penalty) -> list[tuple[Scalar, Scalar]]:
    """(μ, ε) of each `cosine` in a penalty or in a chain of penalties."""
    value = penalty.value
    if not isinstance(value, Partial):
        return []
    if value.func is _chain_value:
        return [numbers for part in value.args[0] for numbers in cosine_numbers(part)]
    return [value.args] if value.func is _cosine_value else []


def control_variate() -> Penalty:
    """SCAFFOLD: <x - x̂, c - c_i>, whose gradient c - c_i corrects the client's gradient towards that of all clients.

    A client remembers c_i, the mean gradient of its loss over the local steps of its last round. The server remembers
    c, the mean of all c_i. With plain SGD this is option II of Karimireddy et al. 2020.
    """
    return Penalty(
        init=Partial(tree.zeros_like),
        value=Partial(_control_value),
        server_update=Partial(_add_change),
        client_init=Partial(tree.zeros_like),
        client_update=Partial(_control_change),
    )


def _control_value(params: Params, context: LocalContext) -> Array:
    return tree.dot(tree.sub(params, context.start), tree.sub(context.server_memory, context.client_memory))


def _control_change(context: LocalContext, local: LocalMove) -> Params:
    """The change from c_i to the mean local gradient minus the correction c - c_i that it contains."""
    return tree.sub(local.gradient, context.server_memory)


def _add_change(memory: Params, move: ServerMove) -> Params:
    return tree.add(memory, move.memory_change)


def dynamic(strength: Scalar) -> Penalty:
    """FedDyn: α/2 ‖x - x̂‖² - <x - x̂, g_i>. A model on which all clients agree is an optimum of the global loss.

    A client remembers g_i, the gradient of its loss where it stopped: g_i ← g_i - α (x_i - x̂).

    Args:
        strength: α.
    """
    require_at_least(0, **{"FedDyn strength": strength})
    return Penalty(
        init=Partial(no_memory),
        value=Partial(_dynamic_value, strength),
        server_update=Partial(_keep_memory),
        client_init=Partial(tree.zeros_like),
        client_update=Partial(_dynamic_change, strength),
    )


def _dynamic_value(strength: Scalar, params: Params, context: LocalContext) -> Array:
    drift = tree.dot(tree.sub(params, context.start), context.client_memory)
    half = of_client(strength, context.client).astype(drift.dtype) / 2
    return half * tree.squared_distance(params, context.start) - drift


def _dynamic_change(strength: Scalar, context: LocalContext, local: LocalMove) -> Params:
    return tree.scale(-of_client(strength, context.client), local.move)


def chain(*penalties: Penalty) -> Penalty:
    """The sum of the penalties. It is zero if there are none."""
    return Penalty(
        init=Partial(_chain_init, penalties),
        value=Partial(_chain_value, penalties),
        server_update=Partial(_chain_update, penalties),
        client_init=Partial(_chain_client_init, penalties),
        client_update=Partial(_chain_client_update, penalties),
    )


def _chain_init(penalties: tuple[Penalty, ...], params: Params) -> Memory:
    return tuple(penalty.init(params) for penalty in penalties)


def _chain_value(penalties: tuple[Penalty, ...], params: Params, context: LocalContext) -> Array:
    total = jnp.zeros((), jax.tree.leaves(params)[0].dtype)
    for penalty, part in zip(penalties, _parts(context), strict=True):
        total += penalty.value(params, part)
    return total


def _parts(context: LocalContext) -> list[LocalContext]:
    """The context of each penalty in a chain, with its own part of the memories."""
    memories = zip(context.server_memory, context.client_memory, strict=True)
    return [context._replace(server_memory=server, client_memory=client) for server, client in memories]


def _chain_update(penalties: tuple[Penalty, ...], memory: Memory, move: ServerMove) -> Memory:
    links = zip(penalties, memory, move.memory_change, strict=True)
    return tuple(penalty.server_update(part, move._replace(memory_change=change)) for penalty, part, change in links)


def _chain_client_init(penalties: tuple[Penalty, ...], params: Params) -> Memory:
    return tuple(penalty.client_init(params) for penalty in penalties)


def _chain_client_update(penalties: tuple[Penalty, ...], context: LocalContext, local: LocalMove) -> Memory:
    return tuple(penalty.client_update(part, local) for penalty, part in zip(penalties, _parts(context), strict=True))
