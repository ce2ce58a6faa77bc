"""Rounds that FedCos saves: Fig. "FedCos enhances the communication efficiency of baselines", on CIFAR10 and on FMNIST.

Command: `python -m experiments.reproduce efficiency [--profile short|paper --data-dir DIR]`; the runs are those of
Tables I and II, eight methods in four settings, shared with them. Quick: 73 seconds on 2 CPU cores.

Each baseline runs for the whole schedule (about 100 rounds); then the rounds are counted that the same baseline with
FedCos(0.02) needs to reach the accuracy where the baseline ended.
Paper: half the rounds on CIFAR10, 2 to 5 times fewer on FMNIST, the more the more heterogeneous the clients.
Ours (paper profile, FMNIST, seed 0), times fewer rounds for FedAvg / FedProx / FedAvgM / FedOpt: totally non-IID 6.5 /
6.0 / 5.2 / 3.2, 90% 3.1 / 3.0 / 2.8 / 3.5, 70% 2.7 / 2.5 / 2.4 / 3.0, IID 2.2 / 1.95 / 1.95 / 2.5. On CIFAR10
FedAvg 2.02 totally non-IID, at 90% 2.15 / 2.15 / 1.87 / 2.48, IID 1.80 / 1.60 / 1.62 / 1.80.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from experiments import table1, table2
from experiments.figures.curves import LINES
from experiments.figures.figure import Figure, Panel, Runs
from experiments.table import Result, Table, stored

ENHANCED = {
    "FedAvg": "FedCos(0.02)",
    "FedProx(0.1)": "FedProx(0.1)+FedCos(0.02)",
    "FedAvgM(0.5)": "FedAvgM(0.5)+FedCos(0.02)",
    "FedOpt(1.5)": "FedOpt(1.5)+FedCos(0.02)",
}
TABLES = (table1.TABLE, table2.TABLE)


class Saving(NamedTuple):
    """What a baseline took for its accuracy, and what FedCos takes for the same."""

    target: float
    """The accuracy where the baseline ended."""
    rounds: int
    enhanced: int | None
    """None if it is never reached."""

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


def savings(table: Table, profile: str, folder: Path, setting: str, baseline: str) -> list[Saving]:
    """One for each seed that both runs have on disk."""
    plain, better = (
        {result["seed"]: result for result in stored(table, profile, folder, setting, method)}
        for method in (baseline, ENHANCED[baseline])
    )
    return [saving(plain[seed], better[seed]) for seed in plain if seed in better]


def panels(profile: str, folder: Path) -> list[Panel]:
    """One panel a baseline and dataset that have runs."""
    return [panel for table in TABLES for baseline in ENHANCED for panel in _panel(table, baseline, profile, folder)]


def _panel(table: Table, baseline: str, profile: str, folder: Path) -> Iterator[Panel]:
    found = {table.settings[name].heading: savings(table, profile, folder, name, baseline) for name in table.settings}
    if any(found.values()):
        dataset = table.config(profile, "sorted").dataset
        yield Panel(f"{baseline}, {dataset}", partial(_draw, {name: s for name, s in found.items() if s}))


def _draw(found: dict[str, list[Saving]], axes: Axes) -> None:
    """Two bars a setting: the baseline's rounds and FedCos's, with the factor above."""
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
