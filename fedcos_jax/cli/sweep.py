"""`fedcos sweep`: a grid of runs as one compiled program, one tidy table and a picture."""

import argparse
import csv
import dataclasses
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fedcos_jax import data
from fedcos_jax.cli import charts, flags
from fedcos_jax.cli.flags import flag
from fedcos_jax.engine.progress import runs_bar
from fedcos_jax.engine.sweep import grid
from fedcos_jax.errors import InputError, require, require_at_least
from fedcos_jax.labels import FLAGS, parse, split_labels
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import Finished, run_together
from fedcos_jax.runs.result import SUMMARY, history_lists, summary, versions

NOT_TAKEN = (
    "save",
    "log_dir",
    "tensorboard",
    "wandb",
    "mlflow",
    "checkpoint_dir",
    "checkpoint_seconds",
    "target_accuracy",
    "patience",
    "stop_on_divergence",
)
"""The flags of `fedcos run` that a sweep does not take. It keeps every finished batch of runs by itself."""

EXAMPLES = """examples:
  fedcos sweep --grid cos_strength=0,0.005,0.01,0.02,0.05 --seeds 5
                                                      a line with its spread
  fedcos sweep --grid cos_strength=0,0.01,0.02 --grid lr=0.01,0.05,0.1
                                                      a heat map
  fedcos sweep --grid "method=FedAvg,FedProx(0.1),FedOpt(1.5)+FedCos(0.02)" --grid partition=sorted,iid
                                                      a table
The flags of `fedcos run`, except those for logs and checkpoints, set what all points share. --out is a folder."""

_WRITE_SECONDS = 5.0
"""Least seconds between two writes, because each one writes the whole table."""

Point = dict[str, Any]


def swept() -> tuple[str, ...]:
    """What the points of a grid may differ in. Anything else changes the shapes of the run."""
    return (*settings.of_kind(Config, "number"), *FLAGS)


def add_sweep(commands) -> None:
    """Adds `sweep` to the subcommands."""
    command = commands.add_parser(
        "sweep",
        usage="fedcos sweep --grid NAME=VALUE,VALUE,... [--grid ...] [--seeds N] [--FLAG VALUE ...]",
        help="train a grid of runs as one program, with a table and a picture of their accuracies",
        description=f"Trains every combination of the values given. These can be swept: {', '.join(swept())}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    command.set_defaults(command=run)
    axes = command.add_argument_group("sweep")
    axes.add_argument(
        "--grid", action="append", default=[], metavar="NAME=VALUES", help="an axis, with values separated by commas"
    )
    axes.add_argument("--seeds", type=int, metavar="N", help="seeds per point, from --seed on (default: 1)")
    axes.add_argument("--at-once", type=int, metavar="N", help="runs in one vmap (default: what fits in memory)")
    axes.add_argument("--again", action="store_true", help="run all points, even if they have a result")
    flags.add_settings(command)


def run(options: argparse.Namespace) -> None:
    """Runs the points that have no result in the folder yet, and writes the table as they finish.

    Points in the folder that are not in the grid stay in the table.
    """
    config, places = flags.resolve(options)
    config = config.pinned()
    for name in NOT_TAKEN:
        taken = getattr(places, name) != getattr(flags.InputOutput, name)
        require(not taken, f"a sweep takes no {flag(name)}: it keeps finished runs by itself")
    axes = read_axes(options.grid)
    for name in axes:
        require(getattr(options, name) is None, f"{name} is given twice: by --grid and by {flag(name)}")
    axes |= seed_axis(axes, options.seeds, config.seed)
    folder = Path(places.out or "sweep")
    points = grid(**axes)
    dataset = config.load(places.data_dir, places.source)
    config = dataclasses.replace(config, clients=at_point(config, points[0]).draws(dataset)[0].num_clients)
    kept = read_points(folder, config, list(axes), again=options.again)
    waiting = {at_point(config, point): point for point in points if options.again or key_of(point) not in kept}
    count = len(waiting)
    files.require_writable(folder / "sweep.json")
    written = time.monotonic()
    try:
        for batch in _run(list(waiting), dataset, options.at_once, quiet=places.quiet):
            for done in batch:
                point = waiting[done.config]
                kept[key_of(point)] = point | summary(done.history) | {"history": history_lists(done.history)}
            if time.monotonic() - written >= _WRITE_SECONDS:
                write(folder, config, axes, list(kept.values()))
                written = time.monotonic()
    finally:
        if kept:
            write(folder, config, axes, list(kept.values()))
    rows = [kept[key_of(point)] for point in points]
    draw(folder, axes, rows)
    best = max(rows, key=lambda row: row["last_accuracy"])
    chosen = ", ".join(f"{name} {best[name]}" for name in axes)
    print(f"{folder}/sweep.csv, .json and .png: {len(rows)} runs, {count} of them now")
    print(f"best: {best['last_accuracy']:.2f}% with {chosen}")


def _run(configs: list[Config], dataset: data.Dataset, at_once: int | None, *, quiet: bool) -> Iterator[list[Finished]]:
    """`run_together` with a progress bar."""
    if not configs:
        return
    with runs_bar("sweep", len(configs), shown=not quiet) as bar:
        for batch in run_together(configs, dataset, at_once):
            bar.update(len(batch))
            yield batch


def read_axes(texts: list[str]) -> dict[str, list]:
    """The axes of --grid NAME=A,B,C, by name."""
    axes: dict[str, list] = {}
    fields = settings.declared(Config)
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in swept() and name in fields:
            raise InputError(
                f"{name} cannot be swept: it changes the shapes of the run; sweepable: {', '.join(swept())}"
            )
        require(name in swept(), f"unknown axis {name!r} of the grid; sweepable: {', '.join(swept())}")
        require(bool(values.strip()), f"--grid {name} needs values: {name}=A,B,...")
        require(name not in axes, f"the axis {name} is given twice")
        read = lambda value, name=name: (  # noqa: E731
            settings.from_text(Config, {name: value})[name] if name in fields else settings.read(value, float, name)
        )
        axes[name] = [read(value) for value in split_labels(values)]
        same = [parse(value).label for value in axes[name]] if name == "method" else axes[name]
        twice = [str(value) for i, value in enumerate(same) if value in same[:i]]
        require(not twice, f"--grid {name} has {', '.join(twice)} more than once")
    return axes


def seed_axis(axes: dict[str, list], seeds: int | None, first: int) -> dict[str, list]:
    """The seeds of --seeds as an axis. Empty if --grid already has seeds."""
    if seeds is None:
        return {} if "seed" in axes else {"seed": [first]}
    require_at_least(1, seeds=seeds)
    require("seed" not in axes, "give --seeds or --grid seed=..., not both")
    return {"seed": list(range(first, first + seeds))}


def at_point(config: Config, point: Point) -> Config:
    """The config of a point."""
    fields = {name: value for name, value in point.items() if name not in FLAGS}
    numbers = {name: value for name, value in point.items() if name in FLAGS}
    flags.refuse_twice(point.get("method", ""), numbers, "--grid {}".format)
    config = dataclasses.replace(config, **fields)
    return dataclasses.replace(config, method=flags.with_numbers(config.spec, numbers).label)


def key_of(point: Point) -> tuple:
    """The key by which a point is looked up."""
    return tuple(sorted((name, point[name]) for name in point if name in swept()))


def read_points(folder: Path, config: Config, axes: list[str], *, again: bool) -> dict[tuple, Point]:
    """The points with results in the folder. Results of another sweep are an error, unless everything is run again."""
    path = folder / "sweep.json"
    if not path.exists():
        return {}
    try:
        before = files.read(path)
    except InputError:
        if again:
            return {}
        raise
    known = isinstance(before, dict) and "points" in before
    require(known or again, f"{path} is not the result of a sweep: choose another --out, or give --again")
    same = known and before.get("config") == _shared(config, axes) and before.get("axes") == axes
    require(same or again, f"{path} is a sweep of another config or other axes: choose another --out, or give --again")
    return {key_of(point): point for point in before["points"]} if same else {}


def _shared(config: Config, axes: list[str]) -> dict[str, Any]:
    """The settings that all points share and that results depend on."""
    return {name: value for name, value in config.results.items() if name not in axes}


def write(folder: Path, config: Config, axes: dict[str, list], rows: list[Point]) -> None:
    """Writes sweep.csv, one row per run, and sweep.json, which has the histories."""
    table = io.StringIO()
    writer = csv.DictWriter(table, [*axes, *SUMMARY], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_text(folder / "sweep.csv", table.getvalue())
    whole = {"config": _shared(config, list(axes)), "versions": versions(), "axes": list(axes), "points": rows}
    files.write(folder / "sweep.json", whole)


def draw(folder: Path, axes: dict[str, list], rows: list[Point]) -> None:
    """Draws the last accuracy, averaged over seeds and further axes, as a line over one axis or a heat map over two."""
    shown = [name for name in axes if name != "seed"][:2] or ["seed"]
    label, path = "accuracy (%)", folder / "sweep.png"

    def accuracies(**at: Any) -> np.ndarray:
        return np.array([row["last_accuracy"] for row in rows if all(row[name] == at[name] for name in at)])

    titles = [name.replace("_", " ") for name in shown]
    if len(shown) == 1:
        axis = axes[shown[0]]
        places = axis if all(isinstance(value, int | float) for value in axis) else list(map(str, axis))
        cells = [accuracies(**{shown[0]: value}) for value in axis]
        mean, deviation = np.array([cell.mean() for cell in cells]), np.array([cell.std() for cell in cells])
        charts.draw_line(places, mean, deviation, (titles[0], label), path)
    else:
        x, y = (axes[name] for name in shown)
        values = np.array([[accuracies(**{shown[0]: a, shown[1]: b}).mean() for a in x] for b in y])
        charts.draw_heat_map(x, y, values, (titles[0], titles[1], label), path)
