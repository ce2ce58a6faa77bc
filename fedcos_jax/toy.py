"""The paper's two-dimensional examples: clients with quadratic losses, and the trajectory of the global model.

The "rows" of a client are its own number, and the "model" is a point in the plane.

Example:
    >>> path = toy.trajectory(toy.TWO_CLIENTS, fc.fedcos(0.5, epsilon=0))
    >>> np.linalg.norm(path - toy.TWO_CLIENTS.optimum(), axis=1).min()
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.data.dataset import as_stored
from fedcos_jax.engine import devices
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.rounds import init_state, one_round
from fedcos_jax.engine.schedule import Schedule
from fedcos_jax.models import Model
from fedcos_jax.optimizers import client_sgd
from fedcos_jax.types import Array, ClientOptimizer, Examples, FederatedData, FederatedMethod, RoundState


class Quadratics(NamedTuple):
    """One loss per client, f_i(x) = ½ (x - c_i)ᵀ A_i (x - c_i), and the point where the global model starts."""

    matrices: Any
    """A_i, [clients, 2, 2]."""
    centers: Any
    """c_i, the optima of the clients, [clients, 2]."""
    start: Any
    """[2]."""

    def optimum(self) -> np.ndarray:
        """The minimum of Σ f_i, [2]. It solves Σ A_i x = Σ A_i c_i."""
        pulls = np.einsum("nij,nj->i", self.matrices, self.centers)
        return np.linalg.solve(self.matrices.sum(0), pulls)

    def loss(self, points: np.ndarray) -> np.ndarray:
        """Σ f_i at points [..., 2]."""
        offsets = points[..., None, :] - self.centers
        return 0.5 * np.einsum("...ni,nij,...nj->...", offsets, self.matrices, offsets)


# The footnote of the paper's Sec. V: f_1 = ½(x-6)² + ¾(x-6)y + ½y², f_2 = ½(x-3)² - ½(x-3)y + ½y².
TWO_CLIENTS = Quadratics(
    matrices=np.array([[[1, 0.75], [0.75, 1]], [[1, -0.5], [-0.5, 1]]]),
    centers=np.array([[6.0, 0.0], [3.0, 0.0]]),
    start=np.array([5.1, -3.1]),
)
# The paper's appendix gives this start but not its functions. Here they are f_1, f_2 and, of the same form,
# f_3 = ½(x-4)² - ½(x-4)(y-3) + ½(y-3)².
THREE_CLIENTS = Quadratics(
    matrices=np.concatenate([TWO_CLIENTS.matrices, [[[1, -0.5], [-0.5, 1]]]]),
    centers=np.concatenate([TWO_CLIENTS.centers, [[4.0, 3.0]]]),
    start=np.array([4.53, 0.38]),
)


def trajectory(
    problem: Quadratics, method: FederatedMethod, *, rounds: int = 80, steps: int = 100, learning_rate: float = 0.1
) -> np.ndarray:
    """The global model at the start and after each round, [1 + rounds, 2].

    Args:
        problem: e.g. TWO_CLIENTS.
        method: e.g. `fc.fedcos(0.5, epsilon=0)`.
        rounds: rounds of aggregation.
        steps: local steps of each client per round.
        learning_rate: of the clients.
    """
    on_device = jax.tree.map(jnp.asarray, problem)
    return np.asarray(_walk(on_device, method, client_sgd(learning_rate), rounds, steps))


@partial(jax.jit, static_argnames=("rounds", "steps"))
def _walk(problem: Quadratics, method: FederatedMethod, optimizer: ClientOptimizer, rounds: int, steps: int) -> Array:
    clients = len(problem.centers)
    schedule = Schedule(rounds=rounds, local_steps=steps, batch_size=1, chunk=clients, placement=devices.available(1))
    federation = Experiment(
        method=method, optimizer=optimizer, data=_as_data(clients), model=_as_model(problem), schedule=schedule
    ).federation

    def body(state: RoundState, _: None) -> tuple[RoundState, Array]:
        state, _info = one_round(state, federation)
        return state, state.params

    _, path = jax.lax.scan(body, init_state(jax.random.key(0), federation), length=rounds)
    return jnp.concatenate([problem.start[None], path])


def _as_data(clients: int) -> FederatedData:
    """One row per client, the number of the client."""
    numbers = jnp.arange(clients)
    rows = Examples(numbers, numbers)
    return FederatedData(rows, rows, numbers, jnp.arange(clients + 1), Partial(as_stored))


def _as_model(problem: Quadratics) -> Model:
    """A point in the plane. Its output for client i is already the loss f_i."""

    def apply(point: Array, clients: Array, key: Array | None) -> Array:
        offsets = point[None] - problem.centers[clients]
        return 0.5 * jnp.einsum("bi,bij,bj->b", offsets, problem.matrices[clients], offsets)

    return Model(
        init=lambda key: problem.start,
        apply=apply,
        loss=lambda outputs, labels: outputs,
        metrics=(),
    )
