"""What a client adds to its loss: the terms of FedProx, FedCos, SCAFFOLD and FedDyn, and their sum.

A strength is a scalar, or one value a client as an array [clients].
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from fedcos_jax import tree
from fedcos_jax.errors import require_at_least
from fedcos_jax.types import Array, LocalContext, LocalMove, Memory, Params, Penalty, Scalar, ServerMove, no_memory


def of_client(value: Scalar, client: Array) -> Array:
    """A client's own entry of a hyper-parameter that is a scalar or an array [clients]; NaN beyond a short array."""
    value = jnp.asarray(value)
    return value if value.ndim == 0 else value.at[client].get(mode="fill", fill_value=jnp.nan)


def _keep_memory(memory: Memory, move: ServerMove) -> Memory:
    return memory


def proximal(strength: Scalar, *, half: bool = False) -> Penalty:
    """FedProx: μ ‖x - x̂‖².

    Args:
        strength: μ.
        half: use μ/2, the form of the FedProx paper. The FedCos paper writes the term without the ½,
            so its FedProx(0.1) is the original's μ = 0.2.
    """
    require_at_least(0, **{"FedProx strength": strength})
    weight = strength / 2 if half else strength
    return Penalty(Partial(no_memory), Partial(_proximal_value, weight), Partial(_keep_memory))


def _proximal_value(weight: Scalar, params: Params, context: LocalContext) -> Array:
    distance = tree.squared_distance(params, context.start)
    return of_client(weight, context.client).astype(distance.dtype) * distance


class Direction(NamedTuple):
    """The last global move d as its length ‖d‖ and the unit vector d/‖d‖ (zero while there is none)."""

    unit: Params
    length: Array


def cosine(strength: Scalar, *, epsilon: Scalar = 0.0, before_server: bool = False) -> Penalty:
    """FedCos: μ (1 - cos θ), θ the angle between x - x̂ and the last global move d.

    cos θ = <x - x̂, d> / sqrt(‖x - x̂‖² ‖d‖² + ε), and 1 where it is undefined.

    Args:
        strength: μ.
        epsilon: 0 is the paper's definition. The authors' code has 1e-4, which gives a gradient -μ d/sqrt(ε)
            at x = x̂, where the paper's is 0. In both forms there is no penalty while d = 0.
        before_server: take d as the aggregated local moves, before the server optimizer acts on them
            (the authors' code), instead of the move of the global model (the paper). The two agree for
            plain averaging, have the same direction under a server learning rate, and differ under momentum.
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
    # Divided through by ‖d‖, so that no product of two squared lengths can under- or overflow. Both branches of
    # each `where` must be finite: the gradient multiplies the branch not taken by zero, and 0 · inf is NaN.
    direction: Direction = context.server_memory
    has_direction = direction.length > 0
    softening = jnp.sqrt(jnp.asarray(epsilon, direction.length.dtype)) / jnp.where(has_direction, direction.length, 1)
    squared_length = tree.squared_distance(params, context.start) + jnp.square(softening)
    defined = has_direction & (squared_length > 0) & jnp.isfinite(squared_length)
    along = tree.dot(tree.sub(params, context.start), direction.unit)
    cos = along * jax.lax.rsqrt(jnp.where(defined, squared_length, 1))
    return of_client(strength, context.client).astype(cos.dtype) * (1 - jnp.where(defined, cos, 1))


def control_variate() -> Penalty:
    """SCAFFOLD: <x - x̂, c - c_i>, which turns each local gradient from the client's own to everybody's.

    A client remembers c_i, the mean gradient of its loss over the local steps of its last round (with plain SGD this is
    option II of Karimireddy et al. 2020), and the server c, the mean of all c_i.
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
    """From c_i to the mean local gradient without the correction c - c_i that was part of it."""
    return tree.sub(local.gradient, context.server_memory)


def _add_change(memory: Params, move: ServerMove) -> Params:
    return tree.add(memory, move.memory_change)


def dynamic(strength: Scalar) -> Penalty:
    """FedDyn: α/2 ‖x - x̂‖² - <x - x̂, g_i>, whose optimum is the global one once the clients agree.

    A client remembers g_i ← g_i - α (x_i - x̂), the gradient of its loss where it stopped.

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
    """The sum of penalties; of none, zero."""
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
    """The context as each link of a chain sees it."""
    memories = zip(context.server_memory, context.client_memory, strict=True)
    return [context._replace(server_memory=server, client_memory=client) for server, client in memories]


def _chain_update(penalties: tuple[Penalty, ...], memory: Memory, move: ServerMove) -> Memory:
    links = zip(penalties, memory, move.memory_change, strict=True)
    return tuple(penalty.server_update(part, move._replace(memory_change=change)) for penalty, part, change in links)


def _chain_client_init(penalties: tuple[Penalty, ...], params: Params) -> Memory:
    return tuple(penalty.client_init(params) for penalty in penalties)


def _chain_client_update(penalties: tuple[Penalty, ...], context: LocalContext, local: LocalMove) -> Memory:
    return tuple(penalty.client_update(part, local) for penalty, part in zip(penalties, _parts(context), strict=True))
