"""A sweep on disk: sweep.json and sweep.csv with one row per run, summary.csv with one row per point.

Runs that differ only in their seed are one point. A row has the values of its axes, the rounds completed, the
summary of the run and its history.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.engine.halving import Rung
from fedcos_jax.engine.loop import History
from fedcos_jax.errors import InputError, require
from fedcos_jax.runs import files
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import SUMMARY, history_lists, summary, versions

SCORE = next(iter(SUMMARY))
"""What points are compared by: the first value of a summary."""

Row = dict[str, Any]


class Spread(NamedTuple):
    """A value over the seeds of a point."""

    mean: float
    deviation: float | None
    """The sample standard deviation. None for a single seed."""

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.deviation is None else f" ± {self.deviation:.2f}")


class Summary(NamedTuple):
    """A point of a sweep: what its seeds came to."""

    point: Row
    """The values of the axes, without the seed."""
    seeds: int
    rounds: int
    """Rounds completed. Fewer than the config has if halving stopped the point."""
    values: dict[str, Spread]
    """By the names in SUMMARY."""

    def missing(self, whole: int) -> int:
        """The rounds of a whole run that halving left out. The rounds may be an axis."""
        return self.point.get("rounds", whole) - self.rounds

    @property
    def flat(self) -> Row:
        """All of it as one row."""
        spread = {
            f"{name}_{part}": None if number is None else round(number, 4)
            for name, value in self.values.items()
            for part, number in (("mean", value.mean), ("std", value.deviation))
        }
        return self.point | {"seeds": self.seeds, "completed": self.rounds} | spread


def row_of(point: Row, history: History, signs: Sequence[str] = ()) -> Row:
    """The row of a run."""
    lists = history_lists(history)
    return point | {"completed": lists["round"][-1]} | summary(history) | {"warnings": list(signs), "history": lists}


def score_at(row: Row, completed: int) -> float:
    """The value that points are compared by, when so many rounds were completed."""
    history = row["history"]
    value = history[SCORE.removeprefix("last_")][history["round"].index(completed)]
    return float("nan") if value is None else value


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation."""
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)


def summarise(rows: Iterable[Row], axes: Iterable[str], seeds: str | None = "seed") -> list[Summary]:
    """The points of the rows, in the order in which they come. With `seeds` None every run is a point."""
    names = [name for name in axes if name != seeds]
    points: dict[tuple, list[Row]] = {}
    for row in rows:
        points.setdefault(tuple(row[name] for name in names), []).append(row)
    return [
        Summary(
            point=dict(zip(names, point, strict=True)),
            seeds=len(same),
            rounds=min(row["completed"] for row in same),
            values={value: spread([row[value] for row in same]) for value in SUMMARY},
        )
        for point, same in points.items()
    ]


def ranked(points: Iterable[Summary], whole: int) -> list[Summary]:
    """The best first, by the mean over their seeds. Points that halving stopped come after those that went on."""
    return sorted(points, key=lambda point: (point.missing(whole), -point.values[SCORE].mean))


def key_of(row: Row, axes: Iterable[str]) -> tuple:
    """The values of the axes, by which a run is looked up."""
    return tuple(row[name] for name in axes)


def read_rows(folder: Path, config: Config, axes: list[str], *, again: bool) -> dict[tuple, Row]:
    """The runs in the folder. Results of another sweep are an error, unless everything is run again."""
    path = folder / "sweep.json"
    if not path.exists():
        return {}
    try:
        before = files.read(path)
    except InputError:
        if again:
            return {}
        raise
    known = is_sweep(before)
    require(known or again, f"{path} is not the result of a sweep: choose another --out, or give --again")
    # A setting that an older sweep did not have yet had its default.
    stored = before["config"] if known and isinstance(before.get("config"), dict) else {}
    same = known and before.get("axes") == axes and shared(Config(), axes) | stored == shared(config, axes)
    require(same or again, f"{path} is a sweep of another config or other axes: choose another --out, or give --again")
    if not same:
        return {}
    return {key_of(row, axes): {"completed": row["history"]["round"][-1]} | row for row in before["points"]}


def is_sweep(result: Any) -> bool:
    """Whether a JSON file holds a sweep."""
    return isinstance(result, dict) and isinstance(result.get("points"), list)


def shared(config: Config, axes: Iterable[str]) -> dict[str, Any]:
    """The settings that all points share and that results depend on."""
    axes = set(axes)
    return {name: value for name, value in config.results.items() if name not in axes}


def write(folder: Path, config: Config, axes: list[str], rows: list[Row], halving: dict[str, Any] | None) -> None:
    """Writes all three files. `halving` says what stopped points, if anything did."""
    points = [point.flat for point in summarise(rows, axes)]
    files.write_text(folder / "sweep.csv", _table([*axes, "completed", *SUMMARY], rows))
    files.write_text(folder / "summary.csv", _table(list(points[0]), points))
    whole = {"config": shared(config, axes), "versions": versions(), "axes": axes}
    if halving is not None:
        whole["halving"] = halving
    files.write(folder / "sweep.json", whole | {"summary": points, "points": rows})


def about_halving(reduction: int, rungs: Sequence[Rung]) -> dict[str, Any]:
    """What sweep.json says about halving. The rows say how many rounds each run completed."""
    return {"reduction": reduction, "rungs": [rung._asdict() for rung in rungs]}


def _table(columns: list[str], rows: Iterable[Row]) -> str:
    table = io.StringIO()
    writer = csv.DictWriter(table, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()
