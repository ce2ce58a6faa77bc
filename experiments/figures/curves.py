"""Lines over rounds, one per method: most of the figures are made of them."""

from functools import partial
from pathlib import Path

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
}
LABELS = {
    "accuracy": "test accuracy (%)",
    "cosine_pair": "cosine between two local moves",
    "local_move": "move of one local model",
    "distance_pair": "distance of two local models",
    "global_move": "move of the global model",
}
"""Columns of a history, in words."""


def curves(runs: Runs, setting: str, column: str, profile: str, folder: Path, title: str = "") -> list[Panel]:
    """A panel with a line for each method that was run, or no panel if none was."""
    found = {method: stored(runs.table, profile, folder, setting, method) for method in runs.methods}
    found = {method: results for method, results in found.items() if results}
    label = LABELS[column] if title else ""
    return [Panel(title or LABELS[column], partial(_draw, found, column, label))] if found else []


def _draw(found: dict[str, list[Result]], column: str, label: str, axes: Axes) -> None:
    """The mean over the seeds, and their range if there are several."""
    for method, results in found.items():
        color, dashes = LINES[method]
        values = np.array([result["history"][column] for result in results], float)
        rounds = results[0]["history"]["round"] if column == "accuracy" else np.arange(1, values.shape[1] + 1)
        axes.plot(rounds, values.mean(0), color=color, linestyle=dashes, label=method)
        if len(values) > 1:
            axes.fill_between(rounds, values.min(0), values.max(0), color=color, alpha=0.2, linewidth=0)
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
