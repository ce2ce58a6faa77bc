"""`fedcos plot`: the results of any runs and sweeps in one picture."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.cli import charts
from fedcos_jax.cli.charts import Curve
from fedcos_jax.errors import require, require_known
from fedcos_jax.labels import FLAGS, parse
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import OF_ROUNDS
from fedcos_jax.runs.sweeps import is_sweep


class Run(NamedTuple):
    """One run of a result."""

    name: str
    """Of its file."""
    config: dict[str, Any]
    history: dict[str, Any]


def add_plot(commands) -> None:
    """Adds `plot` to the subcommands."""
    command = commands.add_parser(
        "plot",
        help="compare the results of runs and sweeps in a picture",
        description="Draws one column of the history of each result. A line is labelled with the settings that differ. "
        "Runs that differ only in their seed become their mean, with a band of one standard deviation.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos plot a.json b.json                           test accuracy, in accuracy.png
  fedcos plot a.json sweep/sweep.json                 a run beside the points of a sweep
  fedcos plot results/paper/table2/sorted_*.json --value global_move --out moves.pdf""",
    )
    command.add_argument(
        "results", nargs="+", type=Path, metavar="RESULT", help="JSON file of `fedcos run --out` or `fedcos sweep`"
    )
    command.add_argument(
        "--value", default="accuracy", help="column of the history, like accuracy or cosine_mean (default: accuracy)"
    )
    command.add_argument("--every-seed", action="store_true", help="a line for each run instead of the mean over seeds")
    command.add_argument("--out", type=Path, metavar="FILE", help="a .png, .pdf or .svg file (default: VALUE.png)")
    command.set_defaults(command=draw)


def draw(options: argparse.Namespace) -> None:
    runs = [run for path in options.results for run in read_runs(path)]
    for run in runs:
        require_known(options.value, run.history, f"column of {run.name}:")
    out = options.out or Path(f"{options.value}.png")
    lines = [[run] for run in runs] if options.every_seed else groups(runs)
    curves = [mean_curve(label, line, options.value) for label, line in zip(labels(lines), lines, strict=True)]
    charts.draw_curves(curves, axis_title(options.value), out)
    count = f"{len(runs)} runs" if len(lines) == len(runs) else f"{len(runs)} runs in {len(lines)} lines"
    print(f"{out}: {axis_title(options.value)} of {count}")


def read_runs(path: Path) -> list[Run]:
    """The runs of a result: one, or those of a sweep."""
    result = files.read(path)
    if is_sweep(result):
        shared, rows = result.get("config"), result["points"]
        parts: list[tuple[Any, Any]] = [
            (_point_config(shared, row, result.get("axes", [])), row.get("history")) for row in rows
        ]
    else:
        parts = [(result.get("config"), result.get("history"))] if isinstance(result, dict) else [(None, None)]
    whole = all(isinstance(part, dict) for pair in parts for part in pair) and all("round" in pair[1] for pair in parts)
    require(bool(parts) and whole, f"{path} is not a result of `fedcos run --out` or `fedcos sweep`")
    return [Run(str(path), config, history) for config, history in parts]


def _point_config(shared: Any, row: dict[str, Any], axes: list[str]) -> dict[str, Any] | None:
    """The settings at a point of a sweep. Numbers of the method become a part of its label."""
    if not isinstance(shared, dict):
        return None
    values = {name: row[name] for name in axes if name in row}
    numbers = {name: values.pop(name) for name in list(values) if name in FLAGS}
    config = shared | values
    return config | {"method": parse(config["method"]).with_numbers(numbers).label} if "method" in config else config


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs that differ only in their seed. Runs with the same seed too stay alone, because nothing is averaged."""
    same: dict[tuple, list[Run]] = {}
    for run in runs:
        same.setdefault(tuple(sorted((n, repr(v)) for n, v in _results(run).items() if n != "seed")), []).append(run)
    found: list[list[Run]] = []
    for group in same.values():
        seeds = [run.config.get("seed") for run in group]
        found += [group] if len(set(seeds)) == len(seeds) else [[run] for run in group]
    return found


def _results(run: Run) -> dict[str, Any]:
    """The settings that results depend on and that are not the default, which older results may leave out."""
    fields, free = settings.declared(Config), settings.of_kind(Config, "machine")
    config = {name: value for name, value in run.config.items() if name not in free}
    return {name: value for name, value in config.items() if name not in fields or value != fields[name].default}


def mean_curve(label: str, runs: Sequence[Run], column: str) -> Curve:
    """The mean of the runs over the rounds that all of them have."""
    over = [dict(zip(*curve(run.history, column), strict=True)) for run in runs]
    rounds = [number for number in over[0] if all(number in one for one in over)]
    values = np.array([[one[number] for number in rounds] for one in over], float)
    if len(runs) == 1:
        return Curve(label, rounds, values[0])
    return Curve(f"{label} (n = {len(runs)})", rounds, values.mean(axis=0), values.std(axis=0, ddof=1))


def curve(history: dict[str, list], column: str) -> tuple[list, list]:
    """The rounds, and the column's values in them."""
    values = history[column]
    return (list(range(1, len(values) + 1)) if column in OF_ROUNDS else history["round"]), values


def axis_title(column: str) -> str:
    """The name of a column for readers."""
    words = column.removeprefix("test_").replace("_", " ")
    if column in OF_ROUNDS:
        return words
    return f"test {words} (%)" if column == "accuracy" else f"test {words}"


def labels(lines: Sequence[Sequence[Run]]) -> list[str]:
    """A label per line: the settings in which the lines differ, and its file if another line has the same settings."""
    every = dict.fromkeys(name for (run, *_) in lines for name in _results(run) if name != "seed")
    seeds = {name: None for line in lines for name in ("seed",) if len(line) == 1}
    differing = [name for name in every | seeds if len({repr(_value(line[0], name)) for line in lines}) > 1]
    order = sorted(differing, key=lambda name: name != "method")
    texts = [
        ", ".join(_part(name, _value(line[0], name)) for name in order if name != "seed" or len(line) == 1)
        for line in lines
    ]
    own = [line[0].config.get("method", "mean") if len(line) > 1 else line[0].name for line in lines]
    return [
        text if text and texts.count(text) == 1 else f"{text} ({line[0].name})" if text else name
        for text, name, line in zip(texts, own, lines, strict=True)
    ]


def _value(run: Run, name: str) -> Any:
    """The value of a setting. What a result leaves out has its default."""
    field = settings.declared(Config).get(name)
    return run.config.get(name, None if field is None else field.default)


def _part(name: str, value: Any) -> str:
    return str(value) if name in ("method", "dataset", "model", "partition") else f"{name.replace('_', ' ')} {value}"
