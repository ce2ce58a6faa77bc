"""Directions and distances of local models: Fig. "Reducing the inconsistency of directions" and Fig. "Mechanism
illustration of FedCos", both of Table II's totally non-IID clients.

Command: `python -m experiments.reproduce consistency` or `mechanism` `[--profile short|paper --data-dir DIR]`; the runs
are four cells of Table II, shared with it: 200 seconds each in the paper profile on 2 idle CPU cores.

Paper: with FedCos the cosine between two clients' moves is larger, the local models move less and stay nearer each
other, and the global model moves farther; FedProx moves less but in directions as different as FedAvg's.
Ours (paper profile, seed 0, mean of the last ten rounds, FedAvg / FedProx(0.1) / FedCos(0.01) / FedCos(0.02)): cosine
0.06 / 0.03 / 0.29 / 0.57, local move 0.38 / 0.30 / 0.31 / 0.31, distance 0.50 / 0.40 / 0.35 / 0.29, global move
0.04 / 0.03 / 0.15 / 0.23.
"""

from pathlib import Path

from experiments import table2
from experiments.figures.curves import curves
from experiments.figures.figure import Figure, Panel, Runs

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
