"""Client and server optimizers, step by step, against their formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import optimizers
from fedcos_jax.errors import InputError

MOVES = np.array([[1.0, -2.0], [0.5, 0.5], [-1.0, 3.0]])


def server_moves(server):
    """The moves of the global model for the given aggregated moves."""
    rule = server()
    state, moves = rule.init(jnp.zeros(2)), []
    for move in MOVES:
        with jax.numpy_dtype_promotion("standard"):  # optax relies on it
            update, state = rule.update(-jnp.asarray(move), state)
        moves.append(np.asarray(update))
    return np.array(moves)


def test_server_sgd(x64):
    np.testing.assert_allclose(server_moves(optimizers.server_sgd(1.5)), 1.5 * MOVES)
    heavy = [MOVES[0], 0.5 * MOVES[0] + MOVES[1], 0.25 * MOVES[0] + 0.5 * MOVES[1] + MOVES[2]]
    np.testing.assert_allclose(server_moves(optimizers.server_sgd(1.0, 0.5)), heavy)
    damped = [MOVES[0], 0.5 * MOVES[0] + 0.5 * MOVES[1], 0.25 * MOVES[0] + 0.25 * MOVES[1] + 0.5 * MOVES[2]]
    np.testing.assert_allclose(server_moves(optimizers.server_sgd(1.0, 0.5, damped=True)), damped)


def test_server_adam_with_numbers_of_its_own(x64):
    b1, b2, tau, m, v, moves = 0.8, 0.9, 0.01, 0.0, 0.0, []
    for t, move in enumerate(MOVES, 1):
        m, v = b1 * m + (1 - b1) * move, b2 * v + (1 - b2) * move**2
        moves.append(0.1 * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + tau))
    np.testing.assert_allclose(server_moves(optimizers.server_adam(0.1, b1=b1, b2=b2, tau=tau)), moves, rtol=1e-6)


def test_an_accumulating_server(x64):
    rule = optimizers.accumulated_moves()
    state, total = rule.init(jnp.zeros(2)), np.zeros(2)
    for move in MOVES:
        update, state = rule.update(jnp.asarray(move), state, participation=0.5)
        total = total + 0.5 * move
        np.testing.assert_allclose(update, move + total)


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        (optimizers.constant(), [1, 1, 1]),
        (optimizers.exponential(0.5), [1, 0.5, 0.25]),
        (optimizers.cosine_decay(2), [1, 0.5, 0]),
    ],
)
def test_learning_rates_over_rounds(schedule, factors):
    rates = [schedule(jnp.int32(round)) for round in range(3)]
    np.testing.assert_allclose(rates, factors, atol=1e-7)


def test_a_client_steps_down_its_gradient():
    rule = optimizers.client_sgd(jnp.array([0.1, 0.2]), weight_decay=0.5)(jnp.int32(0), jnp.int32(1))
    params, gradient = jnp.array([2.0]), jnp.array([1.0])
    update, _ = rule.update(gradient, rule.init(params), params)
    np.testing.assert_allclose(update, -0.2 * (1 + 0.5 * 2), rtol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: optimizers.server_adam(0.1, b1=1.0), "b1 must be below 1"),
        (lambda: optimizers.server_yogi(0.1, tau=-1.0), "tau must be at least 0"),
        (lambda: optimizers.client_sgd(0.1, momentum=-1.0), "momentum must be at least 0"),
        (lambda: optimizers.cosine_decay(0), "rounds of the cosine schedule must be at least 1"),
    ],
)
def test_bad_numbers(build, message):
    with pytest.raises(InputError, match=message):
        build()
