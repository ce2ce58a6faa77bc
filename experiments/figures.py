"""The paper's figures that Table II's scene and the two-dimensional example give.

| figure        | paper                                                                                    |
|---------------|------------------------------------------------------------------------------------------|
| `toy`         | Fig. "Comparing the global model trajectories": FedAvg, FedProx and FedCos on 2 clients   |
| `consistency` | Fig. "Reducing the inconsistency of directions": cosine of two local moves, test accuracy |
| `mechanism`   | Fig. "Mechanism illustration": local move, distance of two local models, global move      |

Command: `python -m experiments.reproduce mechanism [--profile paper --data-dir DIR]`; the runs behind the last two
are cells of Table II (totally non-IID), shared with it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments import table2, toy
from experiments.table import Cell, cells
from fedcos_jax.methods import parse

RunCell = Callable[[Cell], dict[str, Any]]

COMPARED = ("FedAvg", "FedProx(0.1)", "FedCos(0.01)", "FedCos(0.02)")
COLORS = dict(zip(COMPARED, ("#4c72b0", "#8c8c8c", "#e58b4e", "#c03d3e"), strict=True))
TOY_METHODS = ("FedAvg", "FedProx(0.1)", "FedCos(0.5)")


class FigureEntry(NamedTuple):
    """One row of the FIGURES registry."""

    title: str
    draw: Callable[[str, RunCell], Figure]
    """(profile, how to run a cell) -> figure."""


def draw_toy(profile: str, run: RunCell) -> Figure:
    """Trajectories of the global model over the contours of f_1 + f_2; later rounds darker."""
    problem = toy.TWO_CLIENTS
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    x, y = np.meshgrid(np.linspace(2.4, 6.6, 200), np.linspace(-3.4, 2.2, 200))
    loss = problem.loss(np.stack([x, y], axis=-1))
    optimum = problem.optimum()
    for axes, label in zip(figure.subplots(1, 3, sharey=True), TOY_METHODS, strict=True):
        path = toy.trajectory(problem, parse(label).build())
        nearest = np.linalg.norm(path - optimum, axis=1).min()
        axes.contour(x, y, loss, levels=25, colors="#d0d0d0", linewidths=0.7)
        axes.plot(*path.T, color="#999999", linewidth=0.6)
        axes.scatter(*path.T, c=np.arange(len(path)), cmap="Reds", vmin=-20, s=14, zorder=3)
        axes.plot(*problem.centers.T, "k^", label="local optima")
        axes.plot(*optimum, "g*", markersize=13, label="global optimum")
        axes.set_title(f"{label}: within {nearest:.2f} of the optimum")
    figure.axes[0].legend(loc="lower left")
    return figure


def draw_consistency(profile: str, run: RunCell) -> Figure:
    """Cosine between the moves of two clients, and test accuracy."""
    return _panels(profile, run, {"cosine_pair": "cosine between two local moves", "accuracy": "test accuracy (%)"})


def draw_mechanism(profile: str, run: RunCell) -> Figure:
    """The three panels of the paper's mechanism figure."""
    panels = {
        "local_move": "move of one local model",
        "distance_pair": "distance of two local models",
        "global_move": "move of the global model",
    }
    return _panels(profile, run, panels)


def _panels(profile: str, run: RunCell, panels: dict[str, str]) -> Figure:
    """One panel a column of the history, one line a method, totally non-IID."""
    chosen = cells(table2.TABLE, profile, methods=COMPARED, settings=("sorted",))
    results = [run(cell) for cell in chosen]
    figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    for axes, (column, label) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for result in results:
            values = result["history"][column]
            axes.plot(range(1, len(values) + 1), values, color=COLORS[result["method"]], label=result["method"])
        _finish(axes, label)
    figure.axes[0].legend()
    figure.suptitle(f"{results[0]['dataset']}, totally non-IID, {results[0]['config']['clients']} clients")
    return figure


def _finish(axes: Axes, label: str) -> None:
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(label)
    axes.grid(color="#e6e6e6")
    axes.spines[["top", "right"]].set_visible(False)


FIGURES: dict[str, FigureEntry] = {
    "toy": FigureEntry("Trajectories of the global model, two clients", draw_toy),
    "consistency": FigureEntry("Directional consistency of local models", draw_consistency),
    "mechanism": FigureEntry("The mechanism of FedCos", draw_mechanism),
}
