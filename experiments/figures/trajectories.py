"""Trajectories of the global model on quadratics: Fig. "Comparing the global model trajectories" (Sec. V) for two
clients, Fig. "... on a simple example with 3 participants" (appendix) for three.

Command: `python -m experiments.reproduce toy` or `toy3`; no data, 7 seconds on 2 CPU cores, the same in
every profile.

Paper: FedAvg stops near the middle of the local optima, FedProx no nearer the global optimum and more slowly, FedCos
walks around FedAvg's point and visits points nearer the optimum. Strengths, learning rate and steps are not given, nor
the three functions of the appendix.
Ours, nearest to the optimum: with two clients FedAvg 0.92, FedProx(0.1) 0.69, FedCos(0.5) 0.26; with three (the two
functions and one of our choice) 0.71, 0.49, 0.06. FedProx is slower, and stops nearer than FedAvg.
"""

from functools import cache, partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from experiments import toy
from experiments.figures.curves import LINES
from experiments.figures.figure import INK, Figure, Panel
from fedcos_jax.methods import in_paper_form, parse

METHODS = ("FedAvg", "FedProx(0.1)", "FedCos(0.5)")
PROBLEMS = {2: toy.TWO_CLIENTS, 3: toy.THREE_CLIENTS}
COLOR = LINES["FedCos(0.02)"][0]


@cache
def path(clients: int, method: str) -> np.ndarray:
    """The global model after each round, [1 + rounds, 2]."""
    return toy.trajectory(PROBLEMS[clients], in_paper_form(parse(method)))


def nearest(clients: int, method: str) -> float:
    """How near the global model comes to the optimum after the first round."""
    offsets = path(clients, method)[1:] - PROBLEMS[clients].optimum()
    return float(np.linalg.norm(offsets, axis=1).min())


def panels(clients: int, profile: str, folder: Path) -> list[Panel]:
    """One panel a method."""
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
    """The trajectory over the contours of Σ f_i; later rounds more opaque, which shows on white and on black."""
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
