"""The mechanism measures against brute force over all pairs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import tree
from fedcos_jax.engine.measures import round_info, sum_moves


def measure(moves, weights, chunks=1):
    """round_info of moves [n, 6] split over two leaves, reduced in chunks."""
    positions = jnp.arange(len(moves))
    losses = jnp.arange(len(moves), dtype=jnp.result_type(float))
    parts = [
        sum_moves({"a": m[:, :2], "b": m[:, 2:].reshape(-1, 2, 2)}, loss, w, p)
        for m, loss, w, p in zip(
            *(jnp.array_split(x, chunks) for x in (moves, losses, weights, positions)), strict=True
        )
    ]
    sums = parts[0]
    for part in parts[1:]:
        sums = tree.add(sums, part)
    return sums, round_info(sums, sums.update, len(moves))


@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_against_all_pairs(x64, chunks):
    rng = np.random.default_rng(0)
    moves, weights = rng.normal(size=(5, 6)), rng.dirichlet(np.ones(5))
    sums, info = measure(jnp.asarray(moves), jnp.asarray(weights), chunks)
    pairs = list(itertools.combinations(range(5), 2))
    length = np.linalg.norm(moves, axis=1)
    cosines = {(i, j): moves[i] @ moves[j] / length[i] / length[j] for i, j in pairs}
    distances = {(i, j): np.linalg.norm(moves[i] - moves[j]) for i, j in pairs}
    mean = weights @ moves
    expected = {
        "train_loss": weights @ np.arange(5),
        "cosine_pair": cosines[0, 1],
        "cosine_mean": np.mean(list(cosines.values())),
        "local_move": length[0],
        "local_move_mean": length.mean(),
        "distance_pair": distances[0, 1],
        "distance_rms": np.sqrt(np.mean(np.square(list(distances.values())))),
        "global_move": np.linalg.norm(mean),
    }
    for name, value in expected.items():
        assert float(getattr(info, name)) == pytest.approx(value, rel=1e-10), name
    np.testing.assert_allclose(np.ravel(sums.update["a"]), mean[:2], rtol=1e-12)


def test_the_loss_is_a_mean_whatever_the_weights_add_up_to():
    weights = jnp.array([0.2, 0.3, 0.5])
    losses = [measure(jnp.ones((3, 6)), scale * weights)[1].train_loss for scale in (1, 3)]
    np.testing.assert_allclose(losses, 1.3, rtol=1e-6)


def test_a_cohort_of_one_has_no_pairs():
    _, info = measure(jnp.ones((1, 6)), jnp.ones(1))
    for name in ("cosine_pair", "cosine_mean", "distance_pair", "distance_rms"):
        assert np.isnan(getattr(info, name)), name
    assert float(info.local_move) == pytest.approx(6**0.5)


def test_clients_that_did_not_move_do_not_spoil_the_rest():
    moves = jnp.array([[1.0, 0, 0, 0, 0, 0], [0.0] * 6, [0, 1.0, 0, 0, 0, 0]])
    _, info = measure(moves, jnp.ones(3) / 3)
    assert np.isnan(info.cosine_pair)
    assert float(info.cosine_mean) == pytest.approx(0)
    assert all(np.isfinite(v) for v in jax.tree.leaves(info._replace(cosine_pair=0.0)))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e25])
def test_the_angle_of_the_first_two_is_exact_when_it_is_small_and_at_any_scale(scale):
    angle = 1e-3
    moves = scale * jnp.array([[1.0, 0, 0, 0, 0, 0], [2 * np.cos(angle), 2 * np.sin(angle), 0, 0, 0, 0]])
    _, info = measure(moves, jnp.ones(2) / 2)
    assert float(info.cosine_pair) == pytest.approx(np.cos(angle), abs=2e-7)
