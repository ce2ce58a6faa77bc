"""The penalties: values and gradients at every special point, and against float64 formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import penalties
from fedcos_jax.types import LocalContext, ServerMove

START = {"a": jnp.array([1.0, 2.0]), "b": jnp.array([[3.0]])}
MU = 0.5


def tree_of(vector):
    vector = jnp.asarray(vector, jnp.result_type(float))
    return {"a": vector[:2], "b": vector[2:].reshape(1, 1)}


def vector_of(tree):
    return np.concatenate([np.ravel(tree["a"]), np.ravel(tree["b"])])


def evaluate(penalty, move, direction, client=0):
    """Value and gradient of a penalty at start + move, after a global move in the given direction."""
    start = jax.tree.map(lambda x: x.astype(jnp.result_type(float)) * 0, START)
    memory = penalty.init(start)
    own = penalty.client_init(start)
    memory = penalty.server_update(memory, ServerMove(tree_of(direction), tree_of(direction), own))
    context = LocalContext(start, memory, jnp.asarray(client), own)
    value, gradient = jax.value_and_grad(lambda params: penalty.value(params, context))(tree_of(move))
    return float(value), vector_of(gradient)


def cosine_at(move, direction, epsilon=0.0):
    return evaluate(penalties.cosine(MU, epsilon=epsilon), move, direction)


@pytest.mark.parametrize(
    ("move", "value"), [([2, 0, 0], 0.0), ([-2, 0, 0], 2 * MU), ([0, 2, 0], MU), ([1, 1, 0], MU * (1 - 0.5**0.5))]
)
def test_parallel_opposite_orthogonal_and_between(move, value):
    got, _ = cosine_at(move, [3, 0, 0])
    assert got == pytest.approx(value, abs=1e-6)


def test_gradient_turns_towards_the_direction():
    # Orthogonal to d = (3, 0, 0) at distance 2: ∇ = -μ d/(‖d‖ ‖x - x̂‖), by the paper's equation for ∂g.
    _, gradient = cosine_at([0, 2, 0], [3, 0, 0])
    np.testing.assert_allclose(gradient, [-MU / 2, 0, 0], atol=1e-7)
    for move in ([2, 0, 0], [-2, 0, 0]):
        np.testing.assert_allclose(cosine_at(move, [3, 0, 0])[1], 0, atol=1e-7)


@pytest.mark.parametrize(
    ("move", "direction"), [([0, 0, 0], [3, 0, 0]), ([1, 2, 3], [0, 0, 0]), ([0, 0, 0], [0, 0, 0])]
)
def test_undefined_angle_is_no_penalty(move, direction):
    value, gradient = cosine_at(move, direction)
    assert value == 0
    assert np.array_equal(gradient, np.zeros(3))


def test_epsilon_gives_the_authors_gradient_at_the_start():
    value, gradient = cosine_at([0, 0, 0], [3, 0, 4], epsilon=1e-4)
    assert value == pytest.approx(MU)
    np.testing.assert_allclose(gradient, -MU * np.array([3, 0, 4]) / 1e-2, rtol=1e-6)
    value, gradient = cosine_at([1, 2, 3], [0, 0, 0], epsilon=1e-4)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("epsilon", [0.0, 1e-4])
@pytest.mark.parametrize("move_scale", [1e-38, 1e-20, 1e-10, 1.0, 1e10, 1e20, 1e37])
@pytest.mark.parametrize("direction_scale", [1e-38, 1e-20, 1e-10, 1.0, 1e10, 1e20, 1e37])
def test_finite_at_any_scale(move_scale, direction_scale, epsilon):
    move, direction = np.array([1, -2, 3]) * move_scale, np.array([-3, 1, 1]) * direction_scale
    value, gradient = cosine_at(move, direction, epsilon)
    assert 0 <= value <= 2 * MU
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("direction_scale", [1e-30, 1e-10, 1e10, 1e30])
@pytest.mark.parametrize("move_scale", [1e-15, 1e-5, 1e5, 1e15])
def test_angle_does_not_depend_on_lengths(move_scale, direction_scale):
    value, _ = cosine_at(np.array([1, 1, 0]) * move_scale, np.array([3, 0, 0]) * direction_scale)
    assert value == pytest.approx(MU * (1 - 0.5**0.5), rel=1e-5)


coordinates = st.lists(st.floats(-10, 10).filter(lambda x: abs(x) > 1e-3), min_size=3, max_size=3)


@given(move=coordinates, direction=coordinates, epsilon=st.sampled_from([0.0, 1e-4, 0.5]))
@settings(deadline=None, max_examples=50)
def test_equals_the_formula(move, direction, epsilon):
    with jax.enable_x64(True):
        value, gradient = cosine_at(move, direction, epsilon)
    m, d = np.array(move), np.array(direction)
    root = np.sqrt((m @ m) * (d @ d) + epsilon)
    assert value == pytest.approx(MU * (1 - m @ d / root), abs=1e-12)
    np.testing.assert_allclose(gradient, -MU * (d / root - (m @ d) * (d @ d) * m / root**3), atol=1e-10)


@given(move=coordinates, half=st.booleans())
@settings(deadline=None, max_examples=20)
def test_proximal_equals_the_formula(move, half):
    value, gradient = evaluate(penalties.proximal(MU, half=half), move, [1, 0, 0])
    weight = MU / 2 if half else MU
    assert value == pytest.approx(weight * np.dot(move, move), rel=1e-5)
    np.testing.assert_allclose(gradient, 2 * weight * np.array(move), rtol=1e-5)


def test_direction_before_or_after_the_server():
    update, move = tree_of([1, 0, 0]), tree_of([0, 5, 0])
    for before_server, unit in ((True, [1, 0, 0]), (False, [0, 1, 0])):
        penalty = penalties.cosine(MU, before_server=before_server)
        direction = penalty.server_update(penalty.init(START), ServerMove(update, move, ()))
        np.testing.assert_allclose(vector_of(direction.unit), unit)


def test_strength_of_each_client():
    penalty = penalties.cosine(jnp.array([0.0, 1.0, 3.0]))
    values = [evaluate(penalty, [0, 2, 0], [3, 0, 0], client)[0] for client in range(3)]
    assert values == pytest.approx([0, 1, 3])


def test_chain_is_a_sum_and_none_is_zero():
    both = penalties.chain(penalties.proximal(0.1), penalties.cosine(MU))
    move, direction = [1, 1, 1], [1, 0, 0]
    parts = [evaluate(penalty, move, direction) for penalty in (penalties.proximal(0.1), penalties.cosine(MU))]
    value, gradient = evaluate(both, move, direction)
    assert value == pytest.approx(sum(part[0] for part in parts))
    np.testing.assert_allclose(gradient, parts[0][1] + parts[1][1], rtol=1e-6)
    assert evaluate(penalties.chain(), move, direction)[0] == 0


@pytest.mark.parametrize("build", [penalties.cosine, penalties.proximal])
def test_negative_strength(build):
    with pytest.raises(ValueError, match="must be at least 0"):
        build(-1.0)
