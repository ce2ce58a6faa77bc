"""How a claim is checked: a rule turns numbers, ours or the paper's own, into cases.

A case holds, does not hold, or is too close to call. It is too close to call if it comes out by less than the spread of
what is compared: the standard deviation of the difference over the seeds, or `ONE_SEED` with one seed. Distances to
the paper have a tolerance instead of a spread.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.declare import Table
from experiments.figures import efficiency, trajectories
from experiments.pages.report.sources import BySeed, Paper, Source
from fedcos_jax.runs.result import SUMMARY

ROUNDING = 1e-9
"""Keeps a comparison that allows equality from failing by a rounding error."""
ONE_SEED = 0.3
"""The spread of accuracies, in points, that is assumed where there is only one seed."""


class Case(NamedTuple):
    """One comparison behind a claim."""

    where: str
    statement: str
    numbers: str
    """The numbers compared, as text. Empty if they are missing."""
    slack: float | None
    """How far it is from failing, in its own unit. None if it was not run."""
    spread: float = 0.0
    """A smaller slack than this, up or down, is too close to call."""

    @property
    def word(self) -> str:
        if self.slack is None:
            return "not run"
        if abs(self.slack) < self.spread - ROUNDING:
            return "too close to call"
        return "holds" if self.slack > 0 else "does not hold"


Rule = Callable[[Source], Iterator[Case]]


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
                    numbers = (source.accuracies(table, setting, method, value) for method in (high, low))
                    gap = f" by {margin:g} or more" if margin else ""
                    slack = lambda a, b: a - b - margin + bool(margin) * ROUNDING  # noqa: E731
                    yield _compared(where, f"{high} above {low}{gap}", numbers, slack, one_seed=ONE_SEED)


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
    def gain(setting: str) -> BySeed:
        ours, plain = (source.accuracies(table, setting, name, table.values[0]) for name in (method, "FedAvg"))
        return {seed: ours[seed] - plain[seed] for seed in ours.keys() & plain.keys()}

    headings = [table.settings[name].heading for name in (more, less)]
    statement = f"gain of {method} over FedAvg: {headings[0]} above {headings[1]}"
    gains = gain(more), gain(less)
    yield _compared(table.title, statement, gains, lambda a, b: a - b, one_seed=ONE_SEED, form="{:+.2f}")


def close(table: Table, methods: Sequence[str], other: str, *, within: float) -> Rule:
    """The methods end at most `within` points from another one."""
    return partial(_close, table, methods, other, within)


def _close(table, methods, other, within, source: Source) -> Iterator[Case]:
    for setting in table.settings:
        for method in methods:
            numbers = (source.accuracies(table, setting, name, "last10_accuracy") for name in (method, other))
            statement = f"{method} within {within:g} points of {other}, mean of the last ten rounds"
            slack = lambda a, b: within - abs(a - b) + ROUNDING  # noqa: E731
            yield _compared(table.settings[setting].heading, statement, numbers, slack)


def fewer_rounds(table: Table, *, factor: float) -> Rule:
    """Each baseline with FedCos needs `factor` times fewer rounds to the baseline's last accuracy."""
    return partial(_fewer_rounds, table, factor)


def _fewer_rounds(table, factor, source: Source) -> Iterator[Case]:
    for setting, column in table.settings.items():
        for baseline in efficiency.ENHANCED:
            found = source.factor(table, setting, baseline)
            statement = f"{baseline}: {factor:g} times fewer rounds with FedCos"
            wanted = dict.fromkeys(found, factor)
            yield _compared(column.heading, statement, (found, wanted), lambda a, b: a - b + ROUNDING, form="{:.2f}×")


def measured(table: Table, setting: str, high: str, low: str, columns: dict[str, str]) -> Rule:
    """At the end of the run, each of these columns of the history is larger for `high` than for `low`."""
    return partial(_measured, table, setting, high, low, columns)


def _measured(table, setting, high, low, columns, source: Source) -> Iterator[Case]:
    for column, words in columns.items():
        numbers = (source.tail(table, setting, method, column) for method in (high, low))
        statement = f"{words}: {high} above {low}"
        where = table.settings[setting].heading
        yield _compared(where, statement, numbers, lambda a, b: a - b, one_seed=0.0, form="{:.3f}")


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
                    compared = "last10_accuracy" if steady else value
                    theirs = f"'s {SUMMARY[value]}" if steady else ""
                    ours = source.accuracies(table, setting, method, compared)
                    (printed,) = Paper().accuracies(table, setting, method, value).values()
                    case = _compared(
                        f"{table.title}: {column.heading}",
                        f"{method}, {SUMMARY[compared]}: within {within:g} of the paper{theirs}",
                        (ours, dict.fromkeys(ours, printed)),
                        lambda a, b: within - abs(a - b) + ROUNDING,
                    )
                    swing = source.swing(table, setting, method) if steady else None
                    yield case._replace(numbers=f"{case.numbers}, our rounds ± {swing:.1f}") if swing else case


def nearer_the_optimum(source: Source) -> Iterator[Case]:
    """FedCos visits points nearer the optimum than FedAvg does, on the quadratics."""
    for clients in trajectories.PROBLEMS:
        numbers = [source.nearest(clients, method) for method in ("FedCos(0.5)", "FedAvg")]
        statement = "nearest distance to the optimum: FedCos below FedAvg"
        yield _compared(f"{clients} clients", statement, numbers, lambda a, b: b - a)


def _compared(
    where: str,
    statement: str,
    numbers: Iterable[BySeed],
    slack: Callable[[float, float], float],
    *,
    one_seed: float | None = None,
    form: str = "{:.2f}",
) -> Case:
    """The case of two numbers: their means over the seeds that both have.

    Args:
        where: the setting.
        statement: what is compared.
        numbers: the two that are compared, the one that the statement names first before the other.
        slack: of the two means. Positive if the case holds.
        one_seed: the spread with one seed. None if the comparison has a tolerance and no spread.
        form: how the numbers are written.
    """
    left, right = numbers
    seeds = sorted(left.keys() & right.keys())
    if not seeds:
        return Case(where, statement, "", None)
    ours, theirs = (float(np.mean([each[seed] for seed in seeds])) for each in (left, right))
    spread = 0.0 if one_seed is None else one_seed
    if one_seed is not None and len(seeds) > 1:
        spread = float(np.std([left[seed] - right[seed] for seed in seeds], ddof=1))
    return Case(where, statement, f"{form.format(ours)} against {form.format(theirs)}", slack(ours, theirs), spread)
