"""Lines over rounds, one per method: most of the figures are made of them."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from experiments.declare import Table
from experiments.figures.figure import Figure, Panel, Runs
from experiments.store import Result, stored

# Okabe and Ito's colours differ to colour-blind eyes too, and show on white and on black.
LINES = {
    "FedAvg": ("#0072B2", "-"),
    "FedProx(0.1)": ("#8C8C8C", "-"),
    "FedCos(0.01)": ("#E69F00", "-"),
    "FedCos(0.02)": ("#D55E00", "-"),
    "FedOpt(1.2)": ("#56B4E9", "--"),
    "FedOpt(1.5)": ("#009E73", "--"),
    "FedOpt(1.7)": ("#CC79A7", "--"),
    "FedOpt(2)": ("#8C8C8C", ":"),
    "FedAvgM(0.5)": ("#CC79A7", "--"),
    "FedProx(0.1)+FedCos(0.02)": ("#8C8C8C", "-."),
    "FedAvgM(0.5)+FedCos(0.02)": ("#CC79A7", "-."),
    "FedOpt(1.5)+FedCos(0.02)": ("#009E73", "-."),
}
LABELS = {
    "accuracy": "test accuracy (%)",
    "cosine_pair": "cosine between two local moves",
    "cosine_mean": "mean cosine between local moves",
    "local_move": "move of one local model",
    "distance_pair": "distance of two local models",
    "global_move": "move of the global model",
}
"""Columns of a history, in words."""


class Line(NamedTuple):
    """A column of the histories of a method."""

    rounds: list[int]
    values: list[list[float]]
    """One list per seed, each with a value per round that was measured."""


def curves(runs: Runs, setting: str, column: str, profile: str, folder: Path, title: str = "") -> list[Panel]:
    """A panel with a line for each method that was run, or no panel if none was."""
    found = {method: stored(runs.table, profile, folder, setting, method) for method in runs.methods}
    lines = {method: _line(results, column) for method, results in found.items() if results}
    label = LABELS[column] if title else ""
    return [Panel(title or LABELS[column], partial(_draw, lines, label), lines)] if lines else []


def _line(results: list[Result], column: str) -> Line:
    values = [result["history"][column] for result in results]
    rounds = results[0]["history"]["round"] if column == "accuracy" else list(range(1, len(values[0]) + 1))
    return Line(rounds, values)


def _draw(lines: dict[str, Line], label: str, axes: Axes) -> None:
    """The mean over the seeds, and their range if there are several."""
    for method, line in lines.items():
        color, dashes = LINES[method]
        values = np.array(line.values, float)
        axes.plot(line.rounds, values.mean(0), color=color, linestyle=dashes, label=method)
        if len(values) > 1:
            axes.fill_between(line.rounds, values.min(0), values.max(0), color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="round", ylabel=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def dataset_name(table: Table, profile: str, setting: str) -> str:
    """The dataset of a setting, and the dataset that it stands in for."""
    used, meant = table.config(profile, setting).dataset, table.config("paper", setting).dataset
    return used if used == meant else f"{used} for {meant}"


def accuracy_figure(name: str, title: str, paper: str, *tables: Table) -> Figure:
    """A figure of the accuracies of all methods of the tables, one panel per setting.

    Args:
        name: of the figure on the command line and of its file.
        title: its heading in the report.
        paper: what the paper shows.
        tables: whose runs the figure shows.
    """
    runs = tuple(Runs(table, table.methods, tuple(table.settings)) for table in tables)
    return Figure(name, title, paper, runs, partial(_accuracies, runs), columns=len(runs))


def _accuracies(runs: tuple[Runs, ...], profile: str, folder: Path) -> list[Panel]:
    return [
        panel
        for each in runs
        for setting in each.settings
        for panel in curves(each, setting, "accuracy", profile, folder, dataset_name(each.table, profile, setting))
    ]
