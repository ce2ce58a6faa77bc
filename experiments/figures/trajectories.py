"""Trajectories of the global model on quadratics: Fig. "Comparing the global model trajectories" for two clients, and
the appendix's Fig. "... on a simple example with 3 participants" for three.

Command: `python -m experiments.reproduce toy` or `toy3`
Time: 7 seconds on 2 CPU cores, the same in every profile. It needs no data.
Paper: FedAvg stops between the local optima; FedCos walks around that point and visits points nearer the optimum.
Ours, least distance to the optimum, FedAvg / FedProx(0.1) / FedCos(0.5): 0.92 / 0.69 / 0.26 with two clients,
0.71 / 0.49 / 0.06 with three. See docs/findings.md.
"""

from functools import cache, partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from experiments.figures.curves import LINES
from experiments.figures.figure import INK, Figure, Panel
from fedcos_jax import toy
from fedcos_jax.labels import Options, parse

METHODS = ("FedAvg", "FedProx(0.1)", "FedCos(0.5)")
PROBLEMS = {2: toy.TWO_CLIENTS, 3: toy.THREE_CLIENTS}
COLOR = LINES["FedCos(0.02)"][0]


@cache
def path(clients: int, method: str) -> np.ndarray:
    """The global model after each round, [1 + rounds, 2]."""
    return toy.trajectory(PROBLEMS[clients], parse(method).in_paper_form(Options(epsilon=0.0)))


def nearest(clients: int, method: str) -> float:
    """How near the global model comes to the optimum after the first round."""
    offsets = path(clients, method)[1:] - PROBLEMS[clients].optimum()
    return float(np.linalg.norm(offsets, axis=1).min())


def panels(clients: int, profile: str, folder: Path) -> list[Panel]:
    """One panel per method."""
    points = np.concatenate([*(path(clients, method) for method in METHODS), PROBLEMS[clients].centers])
    low, high = points.min(0) - 0.4, points.max(0) + 0.4
    return [
        Panel(
            f"{method}: within {nearest(clients, method):.2f} of the optimum",
            partial(_draw, PROBLEMS[clients], path(clients, method), low, high),
        )
        for method in METHODS
    ]


def _draw(problem: toy.Quadratics, path: np.ndarray, low: np.ndarray, high: np.ndarray, axes: Axes) -> None:
    """The trajectory over the contours of Σ f_i. Later rounds are more opaque, which shows on white and on black."""
    x, y = np.meshgrid(*(np.linspace(low[i], high[i], 60) for i in range(2)))
    axes.contour(x, y, problem.loss(np.stack([x, y], axis=-1)), levels=18, colors=INK, alpha=0.18, linewidths=0.7)
    axes.plot(*path.T, color=COLOR, alpha=0.5, linewidth=0.8)
    faded = [to_rgba(COLOR, opacity) for opacity in np.linspace(0.25, 1, len(path))]
    axes.scatter(path[:, 0], path[:, 1], c=faded, s=22, linewidths=0, zorder=3)
    axes.plot([], "o", color=COLOR, markersize=5, label="global model")
    axes.plot(*problem.centers.T, "^", color="#0072B2", markersize=8, label="local optima")
    axes.plot(*problem.optimum(), "*", color="#009E73", markersize=14, label="optimum")
    axes.grid(visible=False)


TWO = Figure(
    "toy",
    "Trajectories of the global model, two clients",
    "FedAvg stops between the local optima; FedCos walks around that point and visits points nearer the global "
    "optimum. Later rounds are stronger.",
    (),
    partial(panels, 2),
)
THREE = Figure(
    "toy3",
    "Trajectories of the global model, three clients",
    "The same with three clients (their functions are not printed: here the two of the example above and one more).",
    (),
    partial(panels, 3),
)
