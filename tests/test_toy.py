"""The paper's two-dimensional example: where FedAvg stops and what FedCos visits."""

import numpy as np
import pytest

from fedcos_jax import fedavg, fedcos, fedprox
from fedcos_jax.toy import TWO_CLIENTS, trajectory

OPTIMUM = TWO_CLIENTS.optimum()
MIDPOINT = TWO_CLIENTS.centers.mean(0)


def distances(method, target):
    return np.linalg.norm(trajectory(TWO_CLIENTS, method) - target, axis=1)


def test_optimum_is_exact():
    assert pytest.approx([92 / 21, 20 / 21]) == OPTIMUM
    grid = OPTIMUM + np.random.default_rng(0).normal(size=(1000, 2))
    assert (TWO_CLIENTS.loss(grid) > TWO_CLIENTS.loss(OPTIMUM)).all()


def test_losses_are_those_of_the_footnote():
    x, y = 5.1, -3.1
    first = 0.5 * (x - 6) ** 2 + 0.75 * (x - 6) * y + 0.5 * y**2
    second = 0.5 * (x - 3) ** 2 - 0.5 * (x - 3) * y + 0.5 * y**2
    assert TWO_CLIENTS.loss(TWO_CLIENTS.start) == pytest.approx(first + second)


def test_fedavg_stops_near_the_midpoint_of_the_local_optima():
    path = trajectory(TWO_CLIENTS, fedavg())
    assert path.shape == (81, 2)
    np.testing.assert_allclose(path[0], [5.1, -3.1], rtol=1e-6)
    assert np.linalg.norm(path[-1] - MIDPOINT) < 0.05
    assert np.linalg.norm(path[-1] - path[-20]) < 1e-5


def test_fedcos_visits_points_nearer_the_optimum():
    fedavg_distances = distances(fedavg(), OPTIMUM)
    fedcos_distances = distances(fedcos(0.5, epsilon=0), OPTIMUM)
    assert fedavg_distances.min() > 0.9
    assert fedcos_distances.min() < 0.3
    assert (fedcos_distances < fedavg_distances.min()).sum() > 20


def test_fedcos_walks_around_the_point_of_fedavg():
    path = trajectory(TWO_CLIENTS, fedcos(0.5, epsilon=0))
    center = trajectory(TWO_CLIENTS, fedavg())[-1]
    late = path[-40:] - center
    angles = np.unwrap(np.arctan2(late[:, 1], late[:, 0]))
    assert abs(angles[-1] - angles[0]) > 4 * np.pi
    assert np.linalg.norm(late, axis=1).max() < 2
    assert np.linalg.norm(late.mean(0)) < 0.5


def test_fedprox_is_slower():
    goal = trajectory(TWO_CLIENTS, fedprox(0.5))[-1]
    prox, plain = distances(fedprox(0.5), goal), distances(fedavg(), trajectory(TWO_CLIENTS, fedavg())[-1])
    assert (prox > 1e-3).sum() > (plain > 1e-3).sum()
