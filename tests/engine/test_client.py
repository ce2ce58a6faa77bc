"""One client's local training against plain SGD."""

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import client_sgd, fedprox, scaffold
from fedcos_jax.engine.client import LocalTask, train_client
from fedcos_jax.engine.sampling import epoch_batch
from fedcos_jax.types import LocalContext
from tests.problems import SOFTMAX_REGRESSION, gaussian_data, small_experiment

KEY = jax.random.key(2)


def trained(num_steps, limit, method=None, client_memory=()):
    federation = small_experiment(method).federation
    start = SOFTMAX_REGRESSION.init(KEY)
    context = LocalContext(start, federation.method.penalty.init(start), jnp.int32(1), client_memory)
    task = LocalTask(context, jnp.int32(num_steps), jnp.int32(2), KEY, KEY)
    return jax.jit(train_client, static_argnums=2)(task, federation, client_sgd(0.1)(jnp.int32(0), jnp.int32(1)), limit)


def test_steps_of_sgd_on_the_clients_own_batches(x64):
    data, start = gaussian_data(), SOFTMAX_REGRESSION.init(KEY)
    first, size = int(data.offsets[1]), int(data.size_of(jnp.int32(1)))
    params, losses = start, []
    for step in range(4):
        positions, mask = epoch_batch(KEY, size, 2 + step, 3)
        rows = data.indices[first + positions[mask]]
        loss, gradient = jax.value_and_grad(
            lambda p, rows=rows: SOFTMAX_REGRESSION.loss(
                SOFTMAX_REGRESSION.apply(p, data.train.x[rows], None), data.train.y[rows]
            ).mean()
        )(params)
        losses.append(loss)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
    local, loss = trained(4, 4)
    assert local.gradient is None
    np.testing.assert_allclose(local.move["w"], params["w"] - start["w"], atol=1e-12)
    np.testing.assert_allclose(loss, np.mean(losses), atol=1e-12)


def test_waiting_for_other_clients_changes_nothing():
    alone, waiting = trained(3, 3), trained(3, 8)
    jax.tree.map(np.testing.assert_array_equal, alone, waiting)


def test_a_client_without_steps_does_not_move():
    local, loss = trained(0, 4, fedprox(0.1))
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(local.move))
    assert float(loss) == 0


def test_a_client_that_remembers_reports_its_mean_gradient(x64):
    """With plain SGD the mean gradient is the move divided by -η K."""
    zeros = jax.tree.map(jnp.zeros_like, SOFTMAX_REGRESSION.init(KEY))
    local, _ = trained(4, 4, scaffold(), zeros)
    np.testing.assert_allclose(local.gradient["w"], local.move["w"] / (-0.1 * 4), atol=1e-12)
