"""A table's numbers beside the paper's, as all pages show them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.declare import Table
from experiments.store import AS_DECLARED, Result, stored, stored_variants
from fedcos_jax.labels import parse

OWN_DRAWS = {"replay": None}
"""The variant of a cell with the authors' draws that has draws of our own."""


class Number(NamedTuple):
    """An accuracy as it is shown."""

    mean: float
    deviation: float | None = None
    """The sample standard deviation over the seeds, if there are several."""
    gain: float | None = None
    """The gain of a method with FedCos over the same method without it."""
    best: bool = False
    """Whether it is the best of several in its column."""


class Entry(NamedTuple):
    """One cell of a table: the paper's number and ours, each None if it is missing."""

    paper: Number | None
    ours: Number | None
    own_draws: Number | None = None
    """Ours with draws of our own, where the table's cell has the draws of the authors' code."""

    @property
    def difference(self) -> float | None:
        return self.ours.mean - self.paper.mean if self.ours and self.paper else None


def shown_columns(table: Table, profile: str, value: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    """The columns of a setting with these entries.

    There is no difference if something stands in for the paper's data or model. Own draws stand beside the authors'.
    """
    columns = ["ours"] if value not in table.values else ["paper", "ours"]
    if value in table.values and not table.profiles[profile].stand_ins:
        columns.append("difference")
    if any(entry.own_draws for entry in entries):
        columns.append("own draws")
    return tuple(columns)


class Variant(NamedTuple):
    """A cell of a table run with other settings than the table's."""

    setting: str
    method: str
    name: str
    """What is different."""
    seeds: list[int]
    numbers: list[tuple[Number, float | None]]
    """For each value of the table: the accuracy, and its difference to the table's own cell on the seeds of both."""


def variants(table: Table, profile: str, folder: Path) -> Iterator[Variant]:
    """The variants on disk, but for those that stand beside the table's cells as own draws."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for setting, result in stored_variants(table, profile, folder):
        if result["variant"] == OWN_DRAWS and _has_own_draws(table, profile, setting):
            continue
        name = ", ".join(f"{field} = {given}" for field, given in sorted(result["variant"].items()))
        groups.setdefault((setting, result["method"], name), []).append(result)
    for (setting, method, name), found in groups.items():
        plain = stored(table, profile, folder, setting, method)
        numbers = []
        for value in table.values:
            ours, own = ({result["seed"]: result[value] for result in results} for results in (found, plain))
            numbers.append((Number(*_moments(ours)), _difference(ours, own)))
        yield Variant(setting, method, name, [result["seed"] for result in found], numbers)


def compare(table: Table, profile: str, folder: Path, value: str) -> dict[str, list[Entry]]:
    """Method -> one entry per setting, for one value of the results on disk."""
    columns = [_column(table, profile, folder, setting, value) for setting in table.settings]
    return {method: [column[method] for column in columns] for method in table.methods}


def _column(table: Table, profile: str, folder: Path, setting: str, value: str) -> dict[str, Entry]:
    def numbers(variant: Mapping[str, Any]) -> dict[str, Number]:
        found = {method: stored(table, profile, folder, setting, method, variant) for method in table.methods}
        return _judged({method: {r["seed"]: r[value] for r in results} for method, results in found.items() if results})

    printed = {method: table.paper_number(setting, method, value) for method in table.methods}
    paper = _judged({method: {0: number} for method, number in printed.items() if number is not None})
    ours = numbers(AS_DECLARED)
    own_draws = numbers(OWN_DRAWS) if _has_own_draws(table, profile, setting) else {}
    return {method: Entry(paper.get(method), ours.get(method), own_draws.get(method)) for method in table.methods}


def _has_own_draws(table: Table, profile: str, setting: str) -> bool:
    return table.config(profile, setting).replay is not None


def _judged(column: dict[str, dict[int, float]]) -> dict[str, Number]:
    """The numbers of a column, given by method and seed, with their gains and the best one marked."""
    means = {method: float(np.mean(list(seeds.values()))) for method, seeds in column.items()}
    best = max(means.values(), default=None)
    judged = {}
    for method, seeds in column.items():
        marked = len(means) > 1 and means[method] == best
        gain = _difference(seeds, column.get(without_fedcos(method) or "", {}))
        judged[method] = Number(*_moments(seeds), gain, marked)
    return judged


def _moments(seeds: dict[int, float]) -> tuple[float, float | None]:
    """Mean over the seeds, and standard deviation if there are several."""
    values = list(seeds.values())
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def _difference(ours: dict[int, float], others: dict[int, float]) -> float | None:
    """Mean difference over the seeds that both have."""
    common = sorted(ours.keys() & others.keys())
    return float(np.mean([ours[seed] - others[seed] for seed in common])) if common else None


def without_fedcos(method: str) -> str | None:
    """The method that FedCos enhances: FedOpt(1.5)+FedCos(0.02) -> FedOpt(1.5). None if the label has no FedCos."""
    spec = parse(method)
    plain = spec.without("fedcos")
    return None if plain == spec else plain.label
