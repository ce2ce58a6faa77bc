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

from fedcos_jax import data, methods, plot, results, run_command, settings
from fedcos_jax.errors import InputError, require, require_at_least
from fedcos_jax.experiment import SAME_NUMBERS, Config, history_lists, run_together, summary, versions
from fedcos_jax.progress import runs_bar
from fedcos_jax.simulate import History
from fedcos_jax.sweep import grid

SWEPT = ("method", "partition", "seed", "lr", "lr_decay", "momentum", "weight_decay", "epsilon", *run_command.NUMBERS)
"""What points of one program may differ in; anything else changes the shapes of the run."""
NOT_TAKEN = ("log_dir", "tensorboard", "checkpoint_dir", "checkpoint_seconds")
"""Of the flags of a run; a sweep keeps every block of runs that is done."""
VALUES = ("last_accuracy", "best_accuracy", "last10_accuracy")

EXAMPLES = """examples:
  fedcos sweep --grid cos_strength=0,0.005,0.01,0.02,0.05 --seeds 5
                                                      a line with its spread
  fedcos sweep --grid cos_strength=0,0.01,0.02 --grid lr=0.01,0.05,0.1
                                                      a heat map
  fedcos sweep --grid "method=FedAvg,FedProx(0.1),FedOpt(1.5)+FedCos(0.02)" --grid partition=sorted,iid
                                                      a table
Every flag of `fedcos run` but those of its log and checkpoints says what all points share; --out is a folder."""

_SECONDS = 5.0
"""Between two writings of the table, at least: it is written whole."""

Point = dict[str, Any]


def add_sweep(commands) -> None:
    """Adds `sweep` to the subcommands."""
    command = commands.add_parser(
        "sweep",
        usage="fedcos sweep --grid NAME=VALUE,VALUE,... [--grid ...] [--seeds N] [--FLAG VALUE ...]",
        help="train a grid of runs as one program; a table and a picture of their accuracies",
        description=f"Trains every combination of the values given. Can be swept: {', '.join(SWEPT)}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    command.set_defaults(command=run)
    axes = command.add_argument_group("sweep")
    axes.add_argument("--grid", action="append", default=[], metavar="NAME=VALUES", help="an axis, values by commas")
    axes.add_argument("--seeds", type=int, metavar="N", help="seeds a point, from --seed on (default: 1)")
    axes.add_argument("--at-once", type=int, metavar="N", help="runs in one vmap (default: what fits in memory)")
    axes.add_argument("--again", action="store_true", help="run points again that have a result")
    run_command.add_settings(command)


def run(options: argparse.Namespace) -> None:
    """Runs the points that the folder has no result of yet, and writes the table as they are done.

    Points that the folder has besides those of the grid stay in the table.
    """
    config, files = run_command.resolve(options)
    for name in NOT_TAKEN:
        taken = getattr(files, name) != getattr(run_command.Files, name)
        require(not taken, f"a sweep takes no {settings.flag(name)}: it keeps by itself what is done")
    axes = read_axes(options.grid)
    for name in axes:
        require(getattr(options, name) is None, f"{name} is given twice: by --grid and by {settings.flag(name)}")
    axes |= seed_axis(axes, options.seeds, config.seed)
    folder = Path(files.out or "sweep")
    points = grid(**axes)
    dataset = config.load(files.data_dir, files.source)
    config = dataclasses.replace(config, clients=at_point(config, points[0]).draws(dataset)[0].num_clients)
    kept = read_points(folder, config, list(axes), again=options.again)
    open_points = [point for point in points if options.again or key_of(point) not in kept]
    configs = [at_point(config, point) for point in open_points]
    waiting = iter(open_points)
    results.require_writable(folder / "sweep.json")
    written = time.monotonic()
    try:
        for histories in _run(configs, dataset, options.at_once, quiet=files.quiet):
            for history, point in zip(histories, waiting, strict=False):
                kept[key_of(point)] = point | summary(history) | {"history": history_lists(history)}
            if time.monotonic() - written >= _SECONDS:
                write(folder, config, axes, list(kept.values()))
                written = time.monotonic()
    finally:
        if kept:
            write(folder, config, axes, list(kept.values()))
    rows = [kept[key_of(point)] for point in points]
    draw(folder, axes, rows)
    best = max(rows, key=lambda row: row["last_accuracy"])
    chosen = ", ".join(f"{name} {best[name]}" for name in axes)
    print(f"{folder}/sweep.csv, .json and .png: {len(rows)} runs, {len(open_points)} of them now")
    print(f"best: {best['last_accuracy']:.2f}% with {chosen}")


def _run(configs: list[Config], dataset: data.Dataset, at_once: int | None, *, quiet: bool) -> Iterator[list[History]]:
    """`run_together` with a progress bar; methods of several kinds in the paper's form."""
    if not configs:
        return
    specs = [methods.parse(config.method) for config in configs]
    one_kind = len({(spec.base.name, spec.cosine is None) for spec in specs}) == 1
    build = methods.MethodSpec.build if one_kind else methods.in_paper_form
    with runs_bar("sweep", len(configs), shown=not quiet) as bar:
        for histories in run_together(configs, dataset, build, at_once):
            bar.update(len(histories))
            yield histories


def read_axes(texts: list[str]) -> dict[str, list]:
    """name=a,b,c of each --grid."""
    axes: dict[str, list] = {}
    fields = settings.declared(Config)
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in SWEPT and name in fields:
            raise InputError(f"{name} cannot be swept: it changes the shapes of the run; sweepable: {', '.join(SWEPT)}")
        require(name in SWEPT, f"unknown axis {name!r} of the grid; sweepable: {', '.join(SWEPT)}")
        require(bool(values.strip()), f"--grid {name} needs values: {name}=A,B,...")
        require(name not in axes, f"the axis {name} is given twice")
        read = lambda value, name=name: (  # noqa: E731
            settings.from_text(Config, {name: value})[name] if name in fields else settings.read(value, float, name)
        )
        axes[name] = [read(value.strip()) for value in values.split(",")]
        same = [methods.parse(value).label for value in axes[name]] if name == "method" else axes[name]
        twice = [str(value) for i, value in enumerate(same) if value in same[:i]]
        require(not twice, f"--grid {name} has {', '.join(twice)} more than once")
    return axes


def seed_axis(axes: dict[str, list], seeds: int | None, first: int) -> dict[str, list]:
    """The seeds of --seeds as an axis; none if they are one already."""
    if seeds is None:
        return {} if "seed" in axes else {"seed": [first]}
    require_at_least(1, seeds=seeds)
    require("seed" not in axes, "give --seeds or --grid seed=..., not both")
    return {"seed": list(range(first, first + seeds))}


def at_point(config: Config, point: Point) -> Config:
    """The config of a point."""
    fields = {name: value for name, value in point.items() if name not in run_command.NUMBERS}
    numbers = {name: value for name, value in point.items() if name in run_command.NUMBERS}
    run_command.refuse_twice(point.get("method", ""), numbers, "--grid {}".format)
    config = dataclasses.replace(config, **fields)
    return dataclasses.replace(config, method=run_command.resolve_method(config.method, numbers).label)


def key_of(point: Point) -> tuple:
    """A point as something to look it up by."""
    return tuple(sorted((name, point[name]) for name in point if name in SWEPT))


def read_points(folder: Path, config: Config, axes: list[str], *, again: bool) -> dict[tuple, Point]:
    """The points the folder has results of; those of another sweep are an error, or none if all is run again."""
    path = folder / "sweep.json"
    if not path.exists():
        return {}
    try:
        before = results.read(path)
    except InputError:
        if again:
            return {}
        raise
    known = isinstance(before, dict) and "points" in before
    require(known or again, f"{path} is not of a sweep: choose another --out, or --again")
    same = known and before.get("config") == _shared(config, axes) and before.get("axes") == axes
    require(same or again, f"{path} is a sweep of another config or other axes: choose another --out, or --again")
    return {key_of(point): point for point in before["points"]} if same else {}


def _shared(config: Config, axes: list[str]) -> dict[str, Any]:
    """The config that all points have."""
    return {name: value for name, value in dataclasses.asdict(config).items() if name not in (*axes, *SAME_NUMBERS)}


def write(folder: Path, config: Config, axes: dict[str, list], rows: list[Point]) -> None:
    """sweep.csv, a row a run, and sweep.json, with histories."""
    table = io.StringIO()
    writer = csv.DictWriter(table, [*axes, *VALUES], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    results.write_text(folder / "sweep.csv", table.getvalue())
    whole = {"config": _shared(config, list(axes)), "versions": versions(), "axes": list(axes), "points": rows}
    results.write(folder / "sweep.json", whole)


def draw(folder: Path, axes: dict[str, list], rows: list[Point]) -> None:
    """The mean of the last accuracy over seeds and further axes: over one axis a line, over two a heat map."""
    shown = [name for name in axes if name != "seed"][:2] or ["seed"]
    label, path = "accuracy (%)", folder / "sweep.png"

    def accuracies(**at: Any) -> np.ndarray:
        return np.array([row["last_accuracy"] for row in rows if all(row[name] == at[name] for name in at)])

    titles = [name.replace("_", " ") for name in shown]
    if len(shown) == 1:
        places = [value if isinstance(value, int | float) else str(value) for value in axes[shown[0]]]
        cells = [accuracies(**{shown[0]: value}) for value in axes[shown[0]]]
        mean, deviation = np.array([cell.mean() for cell in cells]), np.array([cell.std() for cell in cells])
        plot.draw_line(places, mean, deviation, (titles[0], label), path)
    else:
        x, y = (axes[name] for name in shown)
        values = np.array([[accuracies(**{shown[0]: a, shown[1]: b}).mean() for a in x] for b in y])
        plot.draw_heat_map(x, y, values, (titles[0], titles[1], label), path)
