"""Accuracy against rounds for every cell of Tables I and II.

Command: `python -m experiments.reproduce table1_rounds` or `table2_rounds` `[--profile short|paper --data-dir DIR]`
Time: the runs are those of Tables I and II.
"""

from functools import partial
from pathlib import Path

from experiments.declare import Table
from experiments.figures.curves import curves
from experiments.figures.figure import Figure, Panel, Runs
from experiments.tables import table1, table2


def _of_table(table: Table, number: str) -> Figure:
    runs = Runs(table, table.methods, tuple(table.settings))
    title = f"Accuracy against rounds, Table {number}"
    return Figure(f"{table.name}_rounds", title, "", (runs,), partial(_settings, runs), columns=2)


def _settings(runs: Runs, profile: str, folder: Path) -> list[Panel]:
    return [
        panel
        for name in runs.settings
        for panel in curves(runs, name, "accuracy", profile, folder, runs.table.settings[name].heading)
    ]


TABLE1, TABLE2 = _of_table(table1.TABLE, "I"), _of_table(table2.TABLE, "II")
