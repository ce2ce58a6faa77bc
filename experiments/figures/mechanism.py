"""Directions and lengths of local moves: Fig. "Reducing the inconsistency of directions" and Fig. "Mechanism
illustration of FedCos", totally non-IID clients of Table II.

Command: `python -m experiments.reproduce consistency` or `mechanism` `[--profile short|paper --data-dir DIR]`
Time: paper 200 seconds for each of four cells of Table II on 2 CPU cores.
Paper: with FedCos local moves agree more and are shorter, local models stay nearer, and the global model moves farther.
Ours, FedAvg / FedCos(0.02), mean of the last ten rounds: cosine 0.06 / 0.57, local move 0.38 / 0.31, distance
0.50 / 0.29, global move 0.04 / 0.23.
"""

from pathlib import Path

from experiments.figures.curves import curves
from experiments.figures.figure import Figure, Panel, Runs
from experiments.tables import table2

RUNS = Runs(table2.TABLE, ("FedAvg", "FedProx(0.1)", "FedCos(0.01)", "FedCos(0.02)"), ("sorted",))


def consistency_panels(profile: str, folder: Path) -> list[Panel]:
    """Cosine between the moves of two clients, and test accuracy."""
    return _panels(("cosine_pair", "accuracy"), profile, folder)


def mechanism_panels(profile: str, folder: Path) -> list[Panel]:
    """Move of a local model, distance of two, move of the global model."""
    return _panels(("local_move", "distance_pair", "global_move"), profile, folder)


def _panels(columns: tuple[str, ...], profile: str, folder: Path) -> list[Panel]:
    return [panel for column in columns for panel in curves(RUNS, "sorted", column, profile, folder)]


CONSISTENCY = Figure(
    "consistency",
    "Directional consistency of local models",
    "With FedCos two clients move in more similar directions, and the global model is better.",
    (RUNS,),
    consistency_panels,
    columns=2,
)
MECHANISM = Figure(
    "mechanism",
    "The mechanism of FedCos",
    "With FedCos local models move less and stay nearer each other, and the global model moves farther.",
    (RUNS,),
    mechanism_panels,
)
