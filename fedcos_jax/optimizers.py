"""The optimizers of the clients and of the server, as optax transformations whose numbers can be traced."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.tree_util import Partial

from fedcos_jax import tree
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.penalties import of_client
from fedcos_jax.types import Array, ClientOptimizer, Params, Scalar

RoundSchedule = Callable[[Array], Scalar]
"""(round) -> the factor on the client learning rate."""


def constant() -> RoundSchedule:
    """The same learning rate in every round."""
    return Partial(_constant)


def exponential(decay: Scalar) -> RoundSchedule:
    """The learning rate times decayʳ in round r."""
    require_at_least(0, **{"learning rate decay": decay})
    return Partial(_exponential, decay)


def cosine_decay(rounds: int) -> RoundSchedule:
    """A learning rate that falls to zero along half a cosine, within the given number of rounds."""
    require_at_least(1, **{"rounds of the cosine schedule": rounds})
    return Partial(_cosine_decay, rounds)


def _constant(round: Array) -> Scalar:
    return 1.0


def _exponential(decay: Scalar, round: Array) -> Scalar:
    decay = jnp.asarray(decay)
    return decay ** round.astype(decay.dtype)


def _cosine_decay(rounds: Scalar, round: Array) -> Scalar:
    progress = jnp.minimum(round.astype(jnp.result_type(float)) / rounds, 1)
    return 0.5 * (1 + jnp.cos(jnp.pi * progress))


def client_sgd(
    learning_rate: Scalar,
    *,
    momentum: Scalar | None = None,
    weight_decay: Scalar | None = None,
    schedule: RoundSchedule | None = None,
) -> ClientOptimizer:
    """Local SGD: x ← x - η_i ∇L_i(x). Its state starts afresh in every round.

    Args:
        learning_rate: η, a scalar or one value per client, [clients].
        momentum: heavy-ball momentum within the round. None for none.
        weight_decay: the multiple of x that is added to the gradient. None for none.
        schedule: the factor on η as a function of the round: `constant`, `exponential`, `cosine_decay` or your own.
    """
    require_at_least(0, **{"learning rate": learning_rate, "momentum": momentum, "weight decay": weight_decay})
    return Partial(_client_sgd, learning_rate, momentum, weight_decay, schedule or constant())


def learning_rate_of(optimizer: ClientOptimizer) -> Scalar | None:
    """η of a `client_sgd`. None for another optimizer."""
    return optimizer.args[0] if isinstance(optimizer, Partial) and optimizer.func is _client_sgd else None


def _client_sgd(
    learning_rate: Scalar,
    momentum: Scalar | None,
    weight_decay: Scalar | None,
    schedule: RoundSchedule,
    round: Array,
    client: Array,
) -> optax.GradientTransformation:
    step_size = of_client(learning_rate, client) * schedule(round)
    sgd = optax.sgd(step_size, momentum=momentum)
    if weight_decay is None:
        return sgd
    return optax.chain(optax.add_decayed_weights(weight_decay), sgd)


class DampedMomentumState(NamedTuple):
    is_first: Array
    momentum: Params


def damped_momentum(decay: Scalar) -> optax.GradientTransformation:
    """m ← β m + (1 - β) Δ, with m = Δ in the first round: the FedAvgM of the paper's tables."""

    def init(params: Params) -> DampedMomentumState:
        return DampedMomentumState(jnp.array(True), tree.zeros_like(params))

    def update(updates: Params, state: DampedMomentumState, params: Params | None = None):
        mixing = jnp.where(state.is_first, 0.0, jnp.asarray(decay))
        momentum = jax.tree.map(
            lambda m, u: mixing.astype(u.dtype) * m + (1 - mixing).astype(u.dtype) * u, state.momentum, updates
        )
        return momentum, DampedMomentumState(jnp.array(False), momentum)

    return optax.GradientTransformation(init, update)


def accumulated_moves() -> optax.GradientTransformationExtraArgs:
    """s ← s + p Δ, then Δ + s, where p is the share of clients that took part: the server of FedDyn, with s = -h/α."""

    def update(updates: Params, state: Params, params: Params | None = None, *, participation: Scalar):
        moved = jax.tree.map(lambda s, u: s + jnp.asarray(participation, u.dtype) * u, state, updates)
        return tree.add(updates, moved), moved

    return optax.GradientTransformationExtraArgs(tree.zeros_like, update)


def server_dynamic():
    """The server of FedDyn: x̂ ← x̂ + Δ + s, with s as in `accumulated_moves`."""
    return Partial(_dynamic_server)


def _dynamic_server() -> optax.GradientTransformationExtraArgs:
    return optax.chain(accumulated_moves(), optax.scale_by_learning_rate(1.0))


def server_sgd(learning_rate: Scalar = 1.0, momentum: Scalar | None = None, *, damped: bool = False):
    """x̂ ← x̂ + η_g Δ, or x̂ ← x̂ + η_g m with server momentum.

    Args:
        learning_rate: η_g. 1 is plain averaging.
        momentum: β. None for none.
        damped: use m ← β m + (1 - β) Δ, as the authors' code does. By default m ← β m + Δ, as in Hsu et al., whom the
            paper cites.
    """
    require_at_least(0, **{"server learning rate": learning_rate, "server momentum": momentum})
    if momentum is None:
        return Partial(optax.sgd, learning_rate)
    return Partial(_damped_server if damped else _momentum_server, learning_rate, momentum)


def server_adam(learning_rate: Scalar, *, b1: Scalar = 0.9, b2: Scalar = 0.99, tau: Scalar = 1e-3):
    """x̂ ← x̂ + η_g m / (√v + τ), where m and v are running means of Δ and Δ², corrected for their start at 0.

    The defaults are those of the experiments in Reddi et al. 2021.

    Args:
        learning_rate: η_g.
        b1: β₁, decay of m.
        b2: β₂, decay of v.
        tau: τ, the degree of adaptivity.
    """
    _require_adaptive(learning_rate, b1, b2, tau)
    return Partial(_adaptive_server, Partial(optax.scale_by_adam), learning_rate, b1, b2, tau)


def server_yogi(learning_rate: Scalar, *, b1: Scalar = 0.9, b2: Scalar = 0.99, tau: Scalar = 1e-3):
    """`server_adam` with v ← v + (1 - β₂) sign(Δ² - v) Δ². This v falls more slowly when Δ gets small."""
    _require_adaptive(learning_rate, b1, b2, tau)
    # By default optax starts m and v at 1e-6, but corrects them as if they had started at 0. With β₂ = 0.99 this
    # multiplies the 1e-6 in v by 100 in the first round.
    from_zero = Partial(optax.scale_by_yogi, initial_accumulator_value=0.0)
    return Partial(_adaptive_server, from_zero, learning_rate, b1, b2, tau)


def _require_adaptive(learning_rate: Scalar, b1: Scalar, b2: Scalar, tau: Scalar) -> None:
    require_at_least(0, **{"server learning rate": learning_rate, "b1": b1, "b2": b2, "tau": tau})
    for name, decay in (("b1", b1), ("b2", b2)):
        require(not isinstance(decay, int | float) or decay < 1, f"{name} must be below 1, got {decay}")


def _adaptive_server(
    rule: Callable[..., optax.GradientTransformation], learning_rate: Scalar, b1: Scalar, b2: Scalar, tau: Scalar
) -> optax.GradientTransformation:
    return optax.chain(rule(b1=b1, b2=b2, eps=tau), optax.scale_by_learning_rate(learning_rate))


def _momentum_server(learning_rate: Scalar, momentum: Scalar) -> optax.GradientTransformation:
    return optax.sgd(learning_rate, momentum=momentum)


def _damped_server(learning_rate: Scalar, momentum: Scalar) -> optax.GradientTransformation:
    return optax.chain(damped_momentum(momentum), optax.scale_by_learning_rate(learning_rate))
