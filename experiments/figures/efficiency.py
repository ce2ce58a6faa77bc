"""Rounds that FedCos saves: Fig. "FedCos enhances the communication efficiency of baselines", CIFAR10 and FMNIST.

Command: `python -m experiments.reproduce efficiency [--profile short|paper --data-dir DIR]`
Time: quick 73 seconds on 2 CPU cores. The runs are those of Tables I and II.
Paper: half the rounds on CIFAR10, 2 to 5 times fewer on FMNIST.
Ours: FMNIST 1.95 to 6.5 times fewer; CIFAR10 2.02 totally non-IID, 1.87 to 2.48 at 90%, 1.60 to 1.80 IID. See
docs/findings.md.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from experiments.declare import Table
from experiments.figures.curves import LINES
from experiments.figures.figure import Figure, Panel, Runs
from experiments.store import Result, stored
from experiments.tables import table1, table2

ENHANCED = {
    "FedAvg": "FedCos(0.02)",
    "FedProx(0.1)": "FedProx(0.1)+FedCos(0.02)",
    "FedAvgM(0.5)": "FedAvgM(0.5)+FedCos(0.02)",
    "FedOpt(1.5)": "FedOpt(1.5)+FedCos(0.02)",
}
TABLES = (table1.TABLE, table2.TABLE)


class Saving(NamedTuple):
    """How many rounds a baseline took to its last accuracy, and how many FedCos takes to the same."""

    target: float
    """The accuracy where the baseline ended."""
    rounds: int
    enhanced: int | None
    """None if FedCos never reaches it."""

    @property
    def factor(self) -> float | None:
        return None if self.enhanced is None else self.rounds / self.enhanced


def saving(baseline: Result, enhanced: Result) -> Saving:
    """The rounds until the enhanced run reaches the last accuracy of the baseline."""
    target = baseline["last_accuracy"]
    history = enhanced["history"]
    reached = (
        round for round, accuracy in zip(history["round"], history["accuracy"], strict=True) if accuracy >= target
    )
    return Saving(target, baseline["rounds"], next(reached, None))


def savings(table: Table, profile: str, folder: Path, setting: str, baseline: str) -> dict[int, Saving]:
    """Seed -> the saving, for each seed that both runs have on disk."""
    plain, better = (
        {result["seed"]: result for result in stored(table, profile, folder, setting, method)}
        for method in (baseline, ENHANCED[baseline])
    )
    return {seed: saving(plain[seed], better[seed]) for seed in plain if seed in better}


def panels(profile: str, folder: Path) -> list[Panel]:
    """One panel per baseline and dataset, if they have runs."""
    return [panel for table in TABLES for baseline in ENHANCED for panel in _panel(table, baseline, profile, folder)]


def _panel(table: Table, baseline: str, profile: str, folder: Path) -> Iterator[Panel]:
    found = {
        setting.heading: list(savings(table, profile, folder, name, baseline).values())
        for name, setting in table.settings.items()
    }
    if any(found.values()):
        dataset = table.config(profile, "sorted").dataset
        shown = {name: each for name, each in found.items() if each}
        yield Panel(f"{baseline}, {dataset}", partial(_draw, shown), shown)


def _draw(found: dict[str, list[Saving]], axes: Axes) -> None:
    """Two bars per setting: the baseline's rounds and FedCos's, with the factor above."""
    places = np.arange(len(found))
    rounds = [np.mean([saving.rounds for saving in each]) for each in found.values()]
    enhanced = [np.mean([saving.enhanced or saving.rounds for saving in each]) for each in found.values()]
    axes.bar(places - 0.2, rounds, 0.38, color=LINES["FedAvg"][0], label="baseline, whole run")
    bars = axes.bar(places + 0.2, enhanced, 0.38, color=LINES["FedCos(0.02)"][0], label="with FedCos(0.02)")
    axes.bar_label(bars, [_factor(each) for each in found.values()], padding=2, fontsize=8.5)
    axes.set_xticks(places, [heading.replace(" non-IID", "\nnon-IID") for heading in found])
    axes.set(ylabel="rounds to the same accuracy", xlim=(-0.6, max(len(found), 2) - 0.4))
    axes.margins(y=0.12)
    axes.grid(visible=False, axis="x")


def _factor(each: list[Saving]) -> str:
    factors = [saving.factor for saving in each if saving.factor is not None]
    return f"{np.mean(factors):.2f}×" if len(factors) == len(each) else "never"


FIGURE = Figure(
    "efficiency",
    "Rounds to the accuracy of the baseline",
    "With FedCos each baseline reaches its own last accuracy in half the rounds on CIFAR10 and in a half to a fifth of "
    "them on FMNIST.",
    tuple(
        Runs(table, tuple(name for pair in ENHANCED.items() for name in pair), tuple(table.settings))
        for table in TABLES
    ),
    panels,
    columns=4,
)
