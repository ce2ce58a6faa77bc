"""The begin of the report: one sentence that sums it up, and a row per table. All numbers are counted from the data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.declare import Table
from experiments.pages.comparison import compare, without_fedcos
from experiments.pages.report.claims import ACCURACY_TOLERANCE, PRINTED, WORDS, Verdict
from experiments.pages.report.rules import Case, as_in_the_paper
from experiments.pages.report.sources import Ours

COUNTED = {
    "holds": "{} hold",
    "holds so far": "{} hold in what was run",
    "too close to call": "{} are too close to call",
    "does not hold": "{} do not hold",
    "not run": "{} were not run",
}
"""How many claims came out as a word, in words."""


class Row(NamedTuple):
    """What was run of a table, and how near it is to the paper."""

    table: Table
    run: int
    cells: int
    numbers: int
    """The paper's numbers that were run with its data and schedule."""
    near: int
    """Those of them within `ACCURACY_TOLERANCE` points."""
    difference: float | None
    """Their mean distance to the paper, in points."""
    method: str
    """FedCos alone, with its largest strength in the table."""
    gains: tuple[float, float] | None
    """Its gain over FedAvg, the paper's and ours, as means over the settings that were run."""


def overview(profile: str, folder: Path) -> list[Row]:
    """A row for every table with numbers of the paper of which something was run."""
    return [row for table in PRINTED if (row := _row(table, profile, folder)).run]


def _row(table: Table, profile: str, folder: Path) -> Row:
    compared = compare(table, profile, folder, table.values[0])
    near = list(_near(table, profile, folder))
    differences = [ACCURACY_TOLERANCE - case.slack for case in near if case.slack is not None]
    method = [name for name in table.methods if without_fedcos(name) == "FedAvg"][-1]
    both = [(entry.paper, entry.ours) for entry in compared[method]]
    gains = [(a.gain, b.gain) for a, b in both if a and b and a.gain is not None and b.gain is not None]
    mean = [float(number) for number in np.mean(gains, axis=0)] if gains else []
    return Row(
        table=table,
        run=sum(entry.ours is not None for entries in compared.values() for entry in entries),
        cells=len(table.methods) * len(table.settings),
        numbers=len(near),
        near=sum(case.word == "holds" for case in near),
        difference=float(np.mean(differences)) if differences else None,
        method=method,
        gains=(mean[0], mean[1]) if mean else None,
    )


def _near(table: Table, profile: str, folder: Path) -> Iterator[Case]:
    """The numbers of a table beside the paper's, if they have its data and schedule."""
    if profile == "paper":
        cases = as_in_the_paper([table], within=ACCURACY_TOLERANCE)(Ours(profile, folder))
        yield from (case for case in cases if case.slack is not None)


def summary(profile: str, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> str:
    """The report in one sentence."""
    claims = [verdict for verdict in verdicts if not verdict.claim.own]
    counts = {word: sum(verdict.word == word for verdict in claims) for word in WORDS}
    listed = [COUNTED[word].format(count) for word, count in counts.items() if count]
    counted = f"of the paper's {len(claims)} claims {_and(listed)}."
    numbers = sum(row.numbers for row in rows)
    if not numbers:
        return counted[0].upper() + counted[1:]
    near = sum(row.near for row in rows)
    return f"{near} of {numbers} accuracies are within {ACCURACY_TOLERANCE:g} points of the paper's, and {counted}"


def _and(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
