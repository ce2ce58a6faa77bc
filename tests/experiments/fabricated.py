"""Results written by hand, for what reads them."""

from dataclasses import asdict
from pathlib import Path

from experiments.declare import Table, cells
from fedcos_jax.runs import files

ROUNDS = 20


def write(folder: Path, table: Table, profile: str, setting: str, method: str, accuracy: float, **other) -> Path:
    """A result of a cell that climbs evenly to its accuracy."""
    (cell,) = cells(table, profile, methods=(method,), settings=(setting,))
    climb = [accuracy * (i + 1) / ROUNDS for i in range(ROUNDS)]
    measures = dict.fromkeys(
        ("cosine_pair", "cosine_mean", "local_move", "distance_pair", "global_move"), [0.5] * ROUNDS
    )
    result = {
        **{"experiment": table.name, "profile": profile, "variant": {}, "method": method, "seed": 0, "rounds": ROUNDS},
        **dict.fromkeys(("last_accuracy", "best_accuracy", "last10_accuracy"), accuracy),
        "seconds": 1.0,
        "history": {"round": list(range(1, ROUNDS + 1)), "accuracy": climb, **measures},
        "config": asdict(cell.config),
        "versions": {"jax": "1.2.3"},
    }
    files.write(cell.path(folder), result | other)
    return cell.path(folder)


def as_printed(folder: Path, table: Table, profile: str) -> None:
    """Every cell with the paper's number, of the value that the table names first or the one asked for."""
    for method in table.paper:
        for setting in table.settings:
            printed = {value: table.paper_number(setting, method, value) for value in table.values}
            write(folder, table, profile, setting, method, printed[table.values[0]], **printed)
