"""The paper's two-dimensional examples: clients with quadratic losses, and the trajectory of the global model."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax import Model, Schedule, client_sgd
from fedcos_jax.engine.loop import init_state, one_round
from fedcos_jax.types import Array, ClientOptimizer, Examples, FederatedData, FederatedMethod


class Quadratics(NamedTuple):
    """f_i(x) = ½ (x - c_i)ᵀ A_i (x - c_i), one client each, and where the global model starts."""

    matrices: Any
    centers: Any
    start: Any

    def optimum(self) -> np.ndarray:
        """The minimum of Σ f_i, from its linear equations."""
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
# The appendix starts at this point but does not give its functions: here f_1, f_2 and, of the same form,
# f_3 = ½(x-4)² - ½(x-4)(y-3) + ½(y-3)².
THREE_CLIENTS = Quadratics(
    matrices=np.concatenate([TWO_CLIENTS.matrices, [[[1, -0.5], [-0.5, 1]]]]),
    centers=np.concatenate([TWO_CLIENTS.centers, [[4.0, 3.0]]]),
    start=np.array([4.53, 0.38]),
)


def trajectory(
    problem: Quadratics, method: FederatedMethod, *, rounds: int = 80, steps: int = 100, learning_rate: float = 0.1
) -> np.ndarray:
    """The global model after each round, [1 + rounds, 2], the start included."""
    on_device = jax.tree.map(jnp.asarray, problem)
    return np.asarray(_walk(on_device, method, client_sgd(learning_rate), rounds, steps))


@partial(jax.jit, static_argnames=("rounds", "steps"))
def _walk(problem: Quadratics, method: FederatedMethod, optimizer: ClientOptimizer, rounds: int, steps: int) -> Array:
    data, model = _as_data(problem), _as_model(problem)
    shapes = Schedule(rounds=rounds, local_steps=steps, batch_size=1, devices=1).shapes(data, model)

    def body(state, _):
        state, _ = one_round(state, method, optimizer, data, model, shapes)
        return state, state.params

    state = init_state(jax.random.key(0), method, model, data.num_clients)
    _, path = jax.lax.scan(body, state, length=rounds)
    return jnp.concatenate([problem.start[None], path])


def _as_data(problem: Quadratics) -> FederatedData:
    """One row a client: its own index."""
    clients = jnp.arange(len(problem.centers))
    rows = Examples(clients, clients)
    return FederatedData(rows, rows, clients, jnp.arange(len(clients) + 1), Partial(_as_they_are))


def _as_they_are(x: Array, key: Array | None) -> Array:
    return x


def _as_model(problem: Quadratics) -> Model:
    def apply(params: Array, clients: Array, key: Array | None) -> Array:
        offsets = params[None] - problem.centers[clients]
        return 0.5 * jnp.einsum("bi,bij,bj->b", offsets, problem.matrices[clients], offsets)

    return Model(
        init=lambda key: problem.start,
        apply=apply,
        loss=lambda outputs, labels: outputs,
        correct=lambda outputs, labels: jnp.zeros_like(outputs, bool),
    )
