"""Trajectories of the global model on quadratics: Fig. "Comparing the global model trajectories" for two clients, and
the appendix's Fig. "... on a simple example with 3 participants" for three.

Command: `python -m experiments.reproduce toy` or `toy3`
Time: 7 seconds on 2 CPU cores, the same in every profile. It needs no data.
Paper: FedAvg stops between the local optima; FedCos walks around that point and visits points nearer the optimum.
Ours, nearest / last distance to the optimum with two clients: FedAvg 0.92 / 0.92, FedProx(0.1) 0.69 / 0.69,
FedCos(0.5) 0.26 / 1.42; with three: 0.71 / 0.71, 0.49 / 0.49, 0.06 / 0.89. See docs/findings.md.
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
from fedcos_jax.runs import files

METHODS = ("FedAvg", "FedProx(0.1)", "FedCos(0.5)")
PROBLEMS = {2: toy.TWO_CLIENTS, 3: toy.THREE_CLIENTS}
COLOR = LINES["FedCos(0.02)"][0]
STILL = 0.01
"""A global model that moves less than this in a round has stopped. The local optima are 3 apart."""


def path(clients: int, method: str, profile: str, folder: Path) -> np.ndarray:
    """The global model after each round, [1 + rounds, 2]: as it is stored, or computed if nothing is.

    FedCos's path depends on the last bit of every sum, so another machine computes another one.
    """
    stored = _file(clients, profile, folder)
    return np.array(files.read(stored)[method]) if stored.exists() else _computed(clients, method)


def store(clients: int, profile: str, folder: Path) -> None:
    """Stores the paths of all methods, if they are not stored yet."""
    stored = _file(clients, profile, folder)
    if not stored.exists():
        files.write(stored, {method: _computed(clients, method).tolist() for method in METHODS})


def _file(clients: int, profile: str, folder: Path) -> Path:
    return folder / profile / f"toy_{clients}_clients.json"


@cache
def _computed(clients: int, method: str) -> np.ndarray:
    return toy.trajectory(PROBLEMS[clients], parse(method).in_paper_form(Options(epsilon=0.0)))


def distances(clients: int, path: np.ndarray) -> np.ndarray:
    """How far the global model is from the optimum after each round, [rounds]."""
    return np.linalg.norm(path[1:] - PROBLEMS[clients].optimum(), axis=1)


def moves(path: np.ndarray) -> bool:
    """Whether the global model still moves in the last ten rounds."""
    return float(np.linalg.norm(np.diff(path[-11:], axis=0), axis=1).mean()) > STILL


def panels(clients: int, profile: str, folder: Path) -> list[Panel]:
    """One panel per method. FedCos keeps moving, so its nearest point is not its last one."""
    paths = {method: path(clients, method, profile, folder) for method in METHODS}
    points = np.concatenate([*paths.values(), PROBLEMS[clients].centers])
    low, high = points.min(0) - 0.4, points.max(0) + 0.4
    return [
        Panel(_title(clients, method, walked), partial(_draw, PROBLEMS[clients], walked, low, high), walked.tolist())
        for method, walked in paths.items()
    ]


def _title(clients: int, method: str, path: np.ndarray) -> str:
    away, moving = distances(clients, path), "keeps moving" if moves(path) else "stops"
    return f"{method} {moving}\ndistance to the optimum: nearest {away.min():.2f}, last {away[-1]:.2f}"


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
    "optimum. It does not stop there: it keeps moving. Later rounds are stronger.",
    (),
    partial(panels, 2),
    store=partial(store, 2),
)
THREE = Figure(
    "toy3",
    "Trajectories of the global model, three clients",
    "The same with three clients (their functions are not printed: here the two of the example above and one more).",
    (),
    partial(panels, 3),
    store=partial(store, 3),
)
