"""The values that travel between the rooms of the library.

Everything here is a pytree. Functions inside are `jax.tree_util.Partial`s over their hyper-parameters, so a
method can be passed through `jit` (new values never retrace) and stacked for `vmap` (a sweep).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import chex
import jax
import jax.numpy as jnp
import optax
from jax.tree_util import Partial

Array: TypeAlias = jax.Array
Params: TypeAlias = chex.ArrayTree
Memory: TypeAlias = chex.ArrayTree
Scalar: TypeAlias = float | Array


class LocalContext(NamedTuple):
    """What a penalty sees during one client's local training."""

    start: Params
    """x̂ʳ, the global model that the client received."""
    server_memory: Memory
    """What the server remembers for all clients (for the cosine penalty: the global direction)."""
    client: Array
    """The client's index in the population."""
    client_memory: Memory
    """What this client remembers of the rounds it took part in."""


class LocalMove(NamedTuple):
    """The outcome of one client's local training."""

    move: Params
    """d_i = x_i - x̂."""
    gradient: Params | None
    """Mean of ∇L_i over the local steps. None for a method whose clients remember nothing."""


class ServerMove(NamedTuple):
    """What the server did at the end of a round."""

    update: Params
    """Σ λ_i (x_i - x̂), the aggregated local moves, before the server optimizer."""
    move: Params
    """x̂ʳ⁺ᴷ - x̂ʳ, the move of the global model, after the server optimizer."""
    memory_change: Memory
    """Change of the mean of all N client memories: the sum of the cohort's changes, divided by N."""


def no_memory(params: Params) -> Memory:
    """The memory of a penalty that needs none."""
    return ()


def _unchanged(context: LocalContext, move: LocalMove) -> Memory:
    return optax.tree.zeros_like(context.client_memory)


class Penalty(NamedTuple):
    """What a client adds to its loss, and what the server and the client remember for it between rounds."""

    init: Callable[[Params], Memory]
    """(initial parameters) -> the server's memory."""
    value: Callable[[Params, LocalContext], Array]
    """(parameters, context) -> the term that is added to the client's loss."""
    server_update: Callable[[Memory, ServerMove], Memory]
    """(server's memory, its move) -> the server's memory for the next round."""
    client_init: Callable[[Params], Memory] = Partial(no_memory)
    """(initial parameters) -> the memory of one client. By default it has none."""
    client_update: Callable[[LocalContext, LocalMove], Memory] = Partial(_unchanged)
    """(context, outcome of local training) -> what is added to the client's memory."""


class FederatedMethod(NamedTuple):
    """A federated method: three independent parts."""

    penalty: Penalty
    weights: Callable[[Array, Array], Array]
    """(data sizes [cohort], local steps [cohort]) -> λ [cohort]. The server adds Σ λ_i (x_i - x̂)."""
    server: Callable[[], Any]
    """() -> the optax transformation that the server applies to the negated aggregate."""


ClientOptimizer = Callable[[Array, Array], Any]
"""(round, client) -> the optax transformation of that client in that round. Its state starts afresh every round."""


class Examples(NamedTuple):
    """Inputs [rows, ...] in their stored dtype, and labels [rows, ...]: classes, numbers, tokens."""

    x: Any
    y: Any


class FederatedData(NamedTuple):
    """A dataset, stored once, and who owns which of its rows.

    The rows of client i are `indices[offsets[i]:offsets[i + 1]]` of `train`.
    """

    train: Examples
    test: Examples
    indices: Array
    offsets: Array
    preprocess: Callable[[Array, Array | None], Array]
    """(stored inputs, key) -> model inputs. The key is None at evaluation."""
    cohorts: Array | None = None
    """Who takes part in each round, [rounds, cohort]. None: drawn from the run's key."""
    test_owners: Array | None = None
    """The client of each test row, [test rows]. None: nobody owns test rows."""
    class_rows: Array | None = None
    """Test rows of each class, [classes]. None: labels are not classes."""

    @property
    def num_clients(self) -> int:
        """Number of clients in the population."""
        return self.offsets.shape[0] - 1

    @property
    def sizes(self) -> Array:
        """Rows that each client of the population owns, [clients]."""
        return self.size_of(jnp.arange(self.num_clients, dtype=jnp.int32))

    def size_of(self, client: Array) -> Array:
        """Rows that one client owns, or that each of an array of clients owns."""
        return self.offsets[client + 1] - self.offsets[client]


class RoundState(NamedTuple):
    """Everything a run needs to continue: the carry of the scan over rounds."""

    key: Array
    round: Array
    params: Params
    server_opt_state: Any
    """State of the server optimizer."""
    server_memory: Memory
    """What the server remembers for the clients' penalty."""
    client_memories: Memory
    """What each client remembers, stacked [clients, ...] and divided among the devices. Most methods have none."""
    steps_taken: Array
    """Local steps that each client has done so far, [clients]: its position in its own stream of epochs."""
