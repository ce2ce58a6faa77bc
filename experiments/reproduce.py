"""Runs the tables and figures of the paper: `python -m experiments.reproduce table2 --profile paper`."""

import argparse
import functools
import sys
from pathlib import Path
from typing import Any

from experiments import markdown, table2
from experiments.figures import FIGURES
from experiments.table import RESULTS, Cell, Table, cells, run_cell
from fedcos_jax import mesh, results
from fedcos_jax.cli import guard
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.experiment import from_text

TABLES: dict[str, Table] = {table.name: table for table in (table2.TABLE,)}
GROUPS: dict[str, list[str]] = {"tables": list(TABLES), "figures": list(FIGURES)}


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    mesh.use_all_cores()
    return guard("reproduce", reproduce, options)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="Runs a table or figure of the paper, one JSON file a cell. Cells that already have a result are "
        "not run again, so an interrupted run goes on where it stopped.",
    )
    parser.add_argument("what", choices=[*GROUPS, *TABLES, *FIGURES], help="a table, a figure, or all of a kind")
    parser.add_argument("--profile", default="quick", choices=["quick", "paper"], help="default: quick")
    parser.add_argument("--seeds", type=int, default=1, help="seeds a cell of a table, for mean ± std (default: 1)")
    parser.add_argument("--methods", nargs="+", default=[], metavar="METHOD", help='e.g. FedAvg "FedCos(0.02)"')
    parser.add_argument("--settings", nargs="+", default=[], metavar="PARTITION", help="e.g. sorted mixed90 iid")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="run a variant of a table, e.g. epsilon=1e-4"
    )
    parser.add_argument("--data-dir", help="folder of the datasets (default: FEDCOS_DATA_DIR)")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--again", action="store_true", help="run cells again that have a result")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    return parser


def reproduce(options: argparse.Namespace) -> None:
    require_at_least(1, seeds=options.seeds)
    require(all("=" in text for text in options.set), f"--set takes NAME=VALUE, got {' '.join(options.set)}")
    for name in GROUPS.get(options.what, [options.what]):
        if name in TABLES:
            reproduce_table(TABLES[name], options)
        else:
            reproduce_figure(name, options)


def run_with(options: argparse.Namespace, cell: Cell) -> dict[str, Any]:
    return run_cell(cell, options.results_dir, options.data_dir, again=options.again, show_progress=not options.quiet)


def reproduce_table(table: Table, options: argparse.Namespace) -> None:
    chosen = cells(
        table,
        options.profile,
        methods=tuple(options.methods),
        settings=tuple(options.settings),
        seeds=options.seeds,
        variant=from_text(dict(text.split("=", 1) for text in options.set)),
    )
    for cell in list(chosen):
        run_with(options, cell)
    path = options.results_dir / options.profile / f"{table.name}.md"
    text = markdown.render(table, options.profile, options.results_dir)
    results.write_text(path, text)
    print(f"{text}\nWritten to {path}; its cells are in {path.with_suffix('')}.")


def reproduce_figure(name: str, options: argparse.Namespace) -> None:
    figure = FIGURES[name].draw(options.profile, functools.partial(run_with, options))
    path = options.results_dir / options.profile / "figures" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"{FIGURES[name].title}: {path}")


if __name__ == "__main__":
    sys.exit(main())
