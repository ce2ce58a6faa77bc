"""How a claim is checked: a rule turns numbers, ours or the paper's own, into cases that hold or do not."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from experiments.declare import Table
from experiments.figures import efficiency, trajectories
from experiments.store import stored
from fedcos_jax.runs.result import SUMMARY

TAIL = 10
"""A measure of the mechanism is averaged over this many rounds at the end."""
ROUNDING = 1e-9
"""Keeps a comparison that allows equality from failing by a rounding error."""


class Case(NamedTuple):
    """One comparison behind a claim."""

    where: str
    statement: str
    numbers: str
    """The numbers compared, as text. Empty if they are missing."""
    holds: bool | None
    """None if it was not run."""
    slack: float = 0.0
    """How far it is from failing, in its own unit. Not positive if it fails."""


class Source(Protocol):
    """Where numbers come from: accuracies by seed, and measures over all seeds, each None if it is missing."""

    def accuracies(self, table: Table, setting: str, method: str, value: str) -> dict[int, float]: ...
    def tail(self, table: Table, setting: str, method: str, column: str) -> float | None: ...
    def factor(self, table: Table, setting: str, baseline: str) -> float | None: ...
    def swing(self, table: Table, setting: str, method: str) -> float | None: ...


class Ours(NamedTuple):
    """The results on disk."""

    profile: str
    folder: Path

    def accuracies(self, table: Table, setting: str, method: str, value: str) -> dict[int, float]:
        found = stored(table, self.profile, self.folder, setting, method)
        return {result["seed"]: result[value] for result in found}

    def tail(self, table: Table, setting: str, method: str, column: str) -> float | None:
        """Mean of a column of the history over the last rounds."""
        found = [
            result["history"][column][-TAIL:] for result in stored(table, self.profile, self.folder, setting, method)
        ]
        return _mean(found)

    def factor(self, table: Table, setting: str, baseline: str) -> float | None:
        """How many times fewer rounds FedCos needs. A run that never gets there counts as 0."""
        return _mean([s.factor or 0.0 for s in efficiency.savings(table, self.profile, self.folder, setting, baseline)])

    def swing(self, table: Table, setting: str, method: str) -> float | None:
        """How far the accuracy of one of the last rounds deviates from their mean, pooled over the seeds."""
        histories = [result["history"] for result in stored(table, self.profile, self.folder, setting, method)]
        ends = [np.asarray(h["accuracy"])[np.asarray(h["round"]) > h["round"][-1] - TAIL] for h in histories]
        variance = _mean([np.var(end, ddof=1) for end in ends if len(end) == TAIL])
        return None if variance is None else float(np.sqrt(variance))


class Paper:
    """The numbers that the paper prints, as if they were of one seed."""

    def accuracies(self, table: Table, setting: str, method: str, value: str) -> dict[int, float]:
        number = table.paper_number(setting, method, value)
        return {} if number is None else {0: number}

    def tail(self, table: Table, setting: str, method: str, column: str) -> float | None:
        return None

    def factor(self, table: Table, setting: str, baseline: str) -> float | None:
        return None

    def swing(self, table: Table, setting: str, method: str) -> float | None:
        return None


Rule = Callable[[Source], Iterator[Case]]


def _mean(found: Sequence) -> float | None:
    return float(np.mean(found)) if found else None


def _means(*methods: dict[int, float]) -> list[float | None]:
    """The mean of each method over the seeds that all have, so that all are compared on the same seeds."""
    common = sorted(set.intersection(*map(set, methods)))
    return [_mean([seeds[seed] for seed in common]) for seeds in methods]


def order(
    table: Table, better: Sequence[str], worse: Sequence[str], *, margin: float = 0.0, settings: Sequence[str] = ()
) -> Rule:
    """Each better method is above each worse one, by the margin, in every setting and value of the table."""
    return partial(_order, table, better, worse, margin, settings or list(table.settings))


def _order(table, better, worse, margin, settings, source: Source) -> Iterator[Case]:
    for setting in settings:
        for value in table.values:
            where = table.settings[setting].heading + (f", {SUMMARY[value]}" if len(table.values) > 1 else "")
            for high in better:
                for low in worse:
                    numbers = _means(*(source.accuracies(table, setting, method, value) for method in (high, low)))
                    gap = f" by {margin:g} or more" if margin else ""
                    yield _case(
                        where,
                        f"{high} above {low}{gap}",
                        numbers,
                        lambda a, b: a - b - margin + bool(margin) * ROUNDING,
                    )


def enhanced(table: Table) -> Rule:
    """Each baseline gains by FedCos in every setting."""
    return lambda source: (
        case
        for low, high in efficiency.ENHANCED.items()
        for case in _order(table, [high], [low], 0.0, table.settings, source)
    )


def gain_grows(table: Table, method: str, more: str, less: str) -> Rule:
    """The gain of a method over FedAvg is larger in the setting `more` than in the setting `less`."""
    return partial(_gain_grows, table, method, more, less)


def _gain_grows(table, method, more, less, source: Source) -> Iterator[Case]:
    def gain(setting: str) -> float | None:
        both = (source.accuracies(table, setting, name, table.values[0]) for name in (method, "FedAvg"))
        ours, plain = _means(*both)
        return None if ours is None or plain is None else ours - plain

    headings = [table.settings[name].heading for name in (more, less)]
    statement = f"gain of {method} over FedAvg: {headings[0]} above {headings[1]}"
    yield _case(table.title, statement, [gain(more), gain(less)], lambda a, b: a - b, "{:+.2f}")


def close(table: Table, methods: Sequence[str], other: str, *, within: float) -> Rule:
    """The methods end at most `within` points from another one."""
    return partial(_close, table, methods, other, within)


def _close(table, methods, other, within, source: Source) -> Iterator[Case]:
    for setting in table.settings:
        for method in methods:
            numbers = _means(*(source.accuracies(table, setting, name, "last10_accuracy") for name in (method, other)))
            statement = f"{method} within {within:g} points of {other}, mean of the last ten rounds"
            yield _case(
                table.settings[setting].heading, statement, numbers, lambda a, b: within - abs(a - b) + ROUNDING
            )


def fewer_rounds(table: Table, *, factor: float) -> Rule:
    """Each baseline with FedCos needs `factor` times fewer rounds to the baseline's last accuracy."""
    return partial(_fewer_rounds, table, factor)


def _fewer_rounds(table, factor, source: Source) -> Iterator[Case]:
    for setting, column in table.settings.items():
        for baseline in efficiency.ENHANCED:
            numbers = [source.factor(table, setting, baseline), factor]
            statement = f"{baseline}: {factor:g} times fewer rounds with FedCos"
            yield _case(column.heading, statement, numbers, lambda a, b: a - b + ROUNDING, "{:.2f}×")


def measured(table: Table, setting: str, high: str, low: str, columns: dict[str, str]) -> Rule:
    """At the end of the run, each of these columns of the history is larger for `high` than for `low`."""
    return partial(_measured, table, setting, high, low, columns)


def _measured(table, setting, high, low, columns, source: Source) -> Iterator[Case]:
    for column, words in columns.items():
        numbers = [source.tail(table, setting, method, column) for method in (high, low)]
        yield _case(
            table.settings[setting].heading, f"{words}: {high} above {low}", numbers, lambda a, b: a - b, "{:.3f}"
        )


def as_in_the_paper(tables: Sequence[Table], *, within: float, same_cohorts: bool = False) -> Rule:
    """Our accuracies are at most `within` points from those that the paper gives.

    Across devices the accuracy of one round depends on its cohort. So the paper's last round is compared with the mean
    of our last ten, and the case says how far a single round of ours deviates. With the same cohorts the last rounds
    are compared.
    """
    return partial(_as_in_the_paper, tables, within, same_cohorts)


def _as_in_the_paper(tables, within, same_cohorts, source: Source) -> Iterator[Case]:
    for table in tables:
        for setting, column in table.settings.items():
            for method in table.paper:
                for value in table.values:
                    steady = table.cross_device and value == "last_accuracy" and not same_cohorts
                    ours = "last10_accuracy" if steady else value
                    theirs = f"'s {SUMMARY[value]}" if steady else ""
                    case = _case(
                        f"{table.title}: {column.heading}",
                        f"{method}, {SUMMARY[ours]}: within {within:g} of the paper{theirs}",
                        [
                            *_means(source.accuracies(table, setting, method, ours)),
                            table.paper_number(setting, method, value),
                        ],
                        lambda a, b: within - abs(a - b) + ROUNDING,
                    )
                    swing = source.swing(table, setting, method) if steady else None
                    yield case._replace(numbers=f"{case.numbers}, our rounds ± {swing:.1f}") if swing else case


def nearer_the_optimum(source: Source) -> Iterator[Case]:
    """FedCos visits points nearer the optimum than FedAvg does, on the quadratics."""
    for clients in trajectories.PROBLEMS:
        numbers: list[float | None] = [trajectories.nearest(clients, method) for method in ("FedCos(0.5)", "FedAvg")]
        known = numbers if isinstance(source, Ours) else [None, None]
        yield _case(f"{clients} clients", "distance to the optimum: FedCos below FedAvg", known, lambda a, b: b - a)


def _case(
    where: str,
    statement: str,
    numbers: Sequence[float | None],
    slack: Callable[[float, float], float],
    form: str = "{:.2f}",
) -> Case:
    left, right = numbers
    if left is None or right is None:
        return Case(where, statement, "", None)
    shown, spare = f"{form.format(left)} against {form.format(right)}", slack(left, right)
    return Case(where, statement, shown, spare > 0, spare)
