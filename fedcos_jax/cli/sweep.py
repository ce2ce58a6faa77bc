"""`fedcos sweep`: a grid of runs as few compiled programs, with tables and a picture."""

import argparse
import dataclasses
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fedcos_jax.cli import flags, panels
from fedcos_jax.cli.axes import at_point, read_axes, seed_axis, swept
from fedcos_jax.cli.flags import flag
from fedcos_jax.engine.halving import Rung, climb, rungs
from fedcos_jax.engine.loop import History
from fedcos_jax.engine.progress import runs_bar
from fedcos_jax.engine.sweep import grid
from fedcos_jax.errors import require
from fedcos_jax.runs import files, sweeps
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import SUMMARY
from fedcos_jax.runs.sweeps import SCORE, Row, Summary, key_of
from fedcos_jax.runs.together import Together

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
                                                      a line with its spread over seeds
  fedcos sweep --grid cos_strength=0,0.01,0.02 --grid lr=0.01,0.05,0.1
                                                      a heat map
  fedcos sweep --grid "method=FedAvg,SCAFFOLD,FedOpt(1.5)+FedCos(0.02)" --grid clients=5,10 --grid partition=sorted,iid
                                                      any methods and client counts, in a panel per partition
  fedcos sweep --grid lr=0.01,0.02,0.05,0.1,0.2,0.5 --grid momentum=none,0.5,0.9 --rounds 90 --halving 3
                                                      only the best third of the points go on, at 10 and 30 rounds
The flags of `fedcos run`, except those for logs and checkpoints, set what all points share. --out is a folder."""

_WRITE_SECONDS = 5.0
"""Least seconds between two writes, because each one writes the whole table."""
_SHOWN = 20
"""Points in the table on screen. summary.csv has all of them."""


def add_sweep(commands) -> None:
    """Adds `sweep` to the subcommands."""
    command = commands.add_parser(
        "sweep",
        usage="fedcos sweep --grid NAME=VALUE,VALUE,... [--grid ...] [--seeds N] [--halving R] [--FLAG VALUE ...]",
        help="train a grid of runs as few programs, with a table and a picture of their accuracies",
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
    axes.add_argument(
        "--halving",
        type=int,
        metavar="R",
        help="stop early: at rounds/R, rounds/R², ... the best 1/R of the points go on",
    )
    axes.add_argument("--at-once", type=int, metavar="N", help="runs in one vmap (default: what fits in memory)")
    axes.add_argument("--again", action="store_true", help="run all points, even if they have a result")
    texts = {"out": "folder of the tables and the picture (default: sweep)"} | dict.fromkeys(
        NOT_TAKEN, argparse.SUPPRESS
    )
    flags.add_settings(command, texts)


def run(options: argparse.Namespace) -> None:
    """Runs the points that have no result in the folder yet, and writes the tables as they finish.

    Points in the folder that are not in the grid stay in the tables.
    """
    config, places = flags.resolve(options)
    config = config.pinned()
    for name in NOT_TAKEN:
        taken = getattr(places, name) != getattr(flags.InputOutput, name)
        require(not taken, f"a sweep takes no {flag(name)}: it keeps finished runs by itself")
    axes = _axes(options, config)
    points = grid(**axes)
    candidates = len(points) // len(axes["seed"])
    plan = None if options.halving is None else rungs(candidates, config.rounds, config.eval_every, options.halving)
    configs = {at_point(config, point): key_of(point, axes) for point in points}
    require(len(configs) == len(points), "two points of the grid are the same run: give each number in one place")
    together = Together(list(configs), lambda one: one.load(places.data_dir, places.source), options.at_once)
    counts = set(together.clients.values())
    config = dataclasses.replace(config, clients=counts.pop() if len(counts) == 1 else config.clients)
    folder = Path(places.out or "sweep")
    table = _Table(folder, config, axes, None if plan is None else sweeps.about_halving(options.halving, plan))
    kept = sweeps.read_rows(folder, config, list(axes), again=options.again)
    table.rows = {key: row for key, row in kept.items() if not options.again or key not in configs.values()}
    waiting = [one for one, key in configs.items() if table.completed(key) < one.rounds]
    files.require_writable(folder / "sweep.json")
    if waiting:
        print(f"{_count(len(waiting), 'run')} in {_count(together.programs(waiting), 'program')}")
    runs = _Runs(together, configs, table, shown=not places.quiet)
    try:
        if plan is None:
            runs.train(waiting)
        else:
            _halve(runs, plan)
    finally:
        table.write()
    _show(table, axes, configs, config, runs.trained)


def _axes(options: argparse.Namespace, config: Config) -> dict[str, list]:
    """The axes of the grid. The seed is the last one, if --grid does not have it."""
    axes = read_axes(options.grid)
    for name in axes:
        require(getattr(options, name) is None, f"{name} is given twice: by --grid and by {flag(name)}")
    epochs = config.local_epochs is not None or any(value is not None for value in axes.get("local_epochs", []))
    require(
        not (epochs and "local_steps" in axes), "local epochs replace local steps: the axis local_steps has no effect"
    )
    require(not (epochs and options.local_steps), "give --local-steps or local epochs, not both")
    for name in ("rounds", "eval_every"):
        fits = options.halving is None or name not in axes
        require(fits, f"halving compares points after equally many rounds: {name} cannot be an axis")
    return axes | seed_axis(axes, options.seeds, config.seed)


class _Table:
    """The rows of the folder, written every few seconds."""

    def __init__(self, folder: Path, config: Config, axes: dict[str, list], halving: dict[str, Any] | None) -> None:
        self.folder, self.config, self.axes, self.halving = folder, config, list(axes), halving
        self.order = {key_of(point, axes): place for place, point in enumerate(grid(**axes))}
        self.rows: dict[tuple, Row] = {}
        self._written = time.monotonic()

    def completed(self, key: tuple) -> int:
        """The rounds that a run has completed."""
        return self.rows[key]["completed"] if key in self.rows else 0

    def add(self, key: tuple, history: History, signs: Sequence[str]) -> None:
        """Adds a run, or more rounds of it."""
        self.rows[key] = sweeps.row_of(dict(zip(self.axes, key, strict=True)), history, signs)
        if time.monotonic() - self._written >= _WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Writes the tables: runs of other grids first, then this one in its order."""
        if self.rows:
            rows = [self.rows[key] for key in sorted(self.rows, key=lambda key: self.order.get(key, -1))]
            sweeps.write(self.folder, self.config, self.axes, rows, self.halving)
        self._written = time.monotonic()


class _Runs:
    """The runs of a sweep, with a progress bar."""

    def __init__(self, together: Together, configs: dict[Config, tuple], table: _Table, *, shown: bool) -> None:
        self._together, self.configs, self.table, self._shown = together, configs, table, shown
        self.trained: set[Config] = set()

    def train(self, configs: Sequence[Config], until: int | None = None) -> None:
        """Runs configs, to the end or until these rounds, and adds them to the table."""
        if not configs:
            return
        with runs_bar("sweep" if until is None else f"round {until}", len(configs), shown=self._shown) as bar:
            for batch in self._together.run(configs, until):
                for done in batch:
                    self.table.add(self.configs[done.config], done.history, done.watch.signs)
                    self.trained.add(done.config)
                bar.update(len(batch))


def _halve(runs: _Runs, plan: Sequence[Rung]) -> None:
    """Runs all points up to the first rung, and the best of them further. Stored rounds are not run again."""
    place = runs.table.axes.index("seed")
    points: dict[tuple, list[Config]] = {}
    for config, key in runs.configs.items():
        points.setdefault((*key[:place], *key[place + 1 :]), []).append(config)
    candidates = list(points.values())

    def advance(alive: list[int], until: int) -> dict[int, float]:
        wanted = [config for candidate in alive for config in candidates[candidate]]
        runs.train([one for one in wanted if runs.table.completed(runs.configs[one]) < until], until)
        rows = runs.table.rows
        return {
            candidate: sweeps.spread(
                [sweeps.score_at(rows[runs.configs[one]], until) for one in candidates[candidate]]
            ).mean
            for candidate in alive
        }

    climb(plan, advance)


def _show(
    table: _Table, axes: dict[str, list], configs: dict[Config, tuple], config: Config, trained: Iterable[Config]
) -> None:
    """Prints the points of this grid, the best first, and draws them."""
    rows = [table.rows[key] for key in configs.values()]
    points = sweeps.summarise(rows, axes)
    whole = max(one.rounds for one in configs)
    if table.halving is not None:
        for rung in table.halving["rungs"][:-1]:
            print(f"round {rung['rounds']}: the best {rung['kept']} of {_count(rung['points'], 'point')} go on")
    print(*_lines(points, [name for name in axes if name != "seed"], whole), sep="\n")
    written = f"{table.folder}/summary.csv, sweep.csv, sweep.json"
    shown = panels.shown_axes(axes)
    if len(shown) <= panels.MOST_AXES:
        pictured = points if "seed" not in shown else sweeps.summarise(rows, axes, seeds=None)
        panels.draw_sweep(axes, pictured, whole, table.folder / "sweep.png")
        written += ", sweep.png"
    else:
        (table.folder / "sweep.png").unlink(missing_ok=True)
        print(
            f"no picture: it shows at most {panels.MOST_AXES} axes with several values, and there are {len(shown)} "
            f"({', '.join(shown)}). To draw one, run again with one value for some of them."
        )
    warned = [row for row in rows if row.get("warnings")]
    if warned:
        where = ", ".join(f"{_words(name)} {warned[0][name]}" for name in axes)
        print(
            f"warning: {_count(len(warned), 'run')} of {len(rows)} diverged, like {where}: {warned[0]['warnings'][0]}"
        )
    print(f"{written}: {_count(len(rows), 'run')}, {len(set(trained))} of them now")


def _lines(points: Sequence[Summary], names: list[str], whole: int) -> list[str]:
    """The table on screen, and the best point."""
    best_first = sweeps.ranked(points, whole)
    stopped = any(point.missing(whole) for point in points)
    heads = [*map(_words, names), "seeds", *(["rounds"] if stopped else []), *SUMMARY.values()]
    cells = [
        [
            *(str(point.point[name]) for name in names),
            str(point.seeds),
            *([str(point.rounds)] if stopped else []),
            *map(str, point.values.values()),
        ]
        for point in best_first[:_SHOWN]
    ]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *cells)]
    if len(points) > _SHOWN:
        lines.append(f"and {len(points) - _SHOWN} more in summary.csv")
    best = best_first[0]
    value = best.values[SCORE]
    where = ", ".join(f"{_words(name)} {best.point[name]}" for name in names) or "the only point"
    seeds = "one seed" if best.seeds == 1 else f"mean ± std of {best.seeds} seeds"
    return ["test accuracy (%), the best first:", *lines, f"best: {where}: {value}% in the {SUMMARY[SCORE]} ({seeds})"]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
