"""One round of federated training: the first state, and the pure function from each state to the next."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from fedcos_jax import tree
from fedcos_jax.engine import sampling
from fedcos_jax.engine.cohort import Clients, train_cohort
from fedcos_jax.engine.devices import DIVIDED, SAME, Placement
from fedcos_jax.engine.experiment import Federation
from fedcos_jax.engine.measures import RoundInfo, round_info
from fedcos_jax.errors import require
from fedcos_jax.types import Array, FederatedData, FederatedMethod, Params, RoundState, ServerMove

_SPECS: dict[str, Any] = dict.fromkeys(RoundState._fields, SAME) | {"client_memories": DIVIDED}
STATE_SPECS = RoundState(**_SPECS)
"""How a state lies on the devices: only the client memories are divided."""


def as_key(key: Array | int) -> Array:
    """The key of a run: a key as it is, `jax.random.PRNGKey(seed)` as a typed key, and a whole number as a seed.

    The seed 0, `jax.random.key(0)` and `jax.random.PRNGKey(0)` give the same run.
    """
    kind, shape = getattr(key, "dtype", type(key)), getattr(key, "shape", ())
    if isinstance(key, jax.Array) and jnp.issubdtype(kind, jax.dtypes.prng_key):
        require(not shape, f"a run takes one key, got keys of shape {shape}: fc.sweep makes many runs")
        return key
    if shape == (2,) and kind == jnp.uint32:
        return jax.random.wrap_key_data(jnp.asarray(key))
    whole = not shape and jnp.issubdtype(kind, jnp.integer)
    what = type(key).__name__ if isinstance(kind, type) else f"{kind} of shape {shape}"
    require(whole, f"the key must be jax.random.key(seed), or a whole number as its seed, got {what}")
    if isinstance(key, int | np.integer):
        require(0 <= key < 2**32, f"a seed must be at least 0 and below 2**32, got {key}")
    return jax.random.key(key)


def init_state(key: Array | int, federation: Federation) -> RoundState:
    """The state before the first round: x̂⁰ drawn from the key, d̂⁰ = 0."""
    init_key, run_key = jax.random.split(as_key(key))
    params = federation.model.init(init_key)
    return first_state(run_key, params, federation.method, federation.data.num_clients, federation.shapes.placement)


def first_state(
    key: Array, params: Params, method: FederatedMethod, num_clients: int, placement: Placement
) -> RoundState:
    """The state before the first round, from its parameters and from the key of everything after them."""
    memories = tree.stack(method.penalty.client_init(params), placement.even_rows(num_clients))
    return RoundState(
        key=key,
        round=jnp.zeros((), jnp.int32),
        params=params,
        server_opt_state=method.server().init(params),
        server_memory=method.penalty.init(params),
        client_memories=placement.split_traced(memories),
        steps_taken=jnp.zeros(num_clients, jnp.int32),
    )


def one_round(state: RoundState, federation: Federation) -> tuple[RoundState, RoundInfo]:
    """One pass of Algorithm 1: choose the cohort S, train it, aggregate its moves, update the direction."""
    method, data, shapes = federation.method, federation.data, federation.shapes
    chosen = _choose(state, data, shapes.cohort)
    sizes = data.size_of(chosen)
    num_steps = shapes.num_steps(sizes)
    steps_taken = state.steps_taken[chosen]
    weights = method.weights(sizes, num_steps)
    cohort = Clients(chosen, num_steps, steps_taken, weights, positions=jnp.arange(shapes.cohort, dtype=jnp.int32))
    client_memories, sums = train_cohort(state, federation, cohort)

    # optax descends along gradients. The aggregated move already points downhill, so it is negated here and only here.
    optimize = optax.with_extra_args_support(method.server()).update
    gradient = tree.scale(-1, sums.moves.update)
    participation = shapes.cohort / data.num_clients
    with jax.numpy_dtype_promotion("standard"):  # optax relies on it
        descent, server_opt_state = optimize(
            gradient, state.server_opt_state, state.params, participation=participation
        )
    params = optax.apply_updates(state.params, descent)
    server_move = ServerMove(sums.moves.update, tree.sub(params, state.params), sums.memory_change)
    next_state = RoundState(
        key=state.key,
        round=state.round + 1,
        params=params,
        server_opt_state=server_opt_state,
        server_memory=method.penalty.server_update(state.server_memory, server_move),
        client_memories=client_memories,
        # The counters are set and not added to. XLA might schedule an addition before the read above, which would then
        # need a copy of the whole population's counters.
        steps_taken=state.steps_taken.at[chosen].set(steps_taken + num_steps),
    )
    return next_state, round_info(sums.moves, server_move.move, shapes.cohort)


def _choose(state: RoundState, data: FederatedData, size: int) -> Array:
    """The cohort S of this round, [size]. The data gives it, or it is drawn at random."""
    if data.cohorts is not None:
        return data.cohorts[state.round]
    cohort_key = jax.random.split(state.key, 3)[0]
    return sampling.cohort(jax.random.fold_in(cohort_key, state.round), data.num_clients, size)
