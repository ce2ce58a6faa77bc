"""The command that runs the paper's tables and figures: `python -m experiments.reproduce table2 --profile paper`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.declare import PROFILES, RESULTS, Cell, Table, cells, select
from experiments.figures import FIGURES
from experiments.figures.figure import Figure
from experiments.pages import markdown, write
from experiments.run import run_cells
from experiments.tables import TABLES
from fedcos_jax.cli.main import guard
from fedcos_jax.engine import devices
from fedcos_jax.engine.compilation import keep_compiled_programs
from fedcos_jax.errors import require, require_at_least, require_known
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.settings import from_text

GROUPS: dict[str, list[str]] = {"tables": list(TABLES), "figures": list(FIGURES), "report": []}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    options = parser().parse_args(arguments)
    devices.use_all_cores()
    keep_compiled_programs()
    return guard("reproduce", reproduce, options)


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="Runs the tables or figures of the paper and writes one JSON file per cell. Cells that already "
        "have a result are not run again, so an interrupted run goes on where it stopped.",
    )
    parser.add_argument(
        "what",
        choices=[*GROUPS, *TABLES, *FIGURES],
        help="a table, a figure, all tables, all figures, or only the report, with the pages and figures of what has "
        "been run",
    )
    parser.add_argument(
        "--profile",
        default="quick",
        choices=PROFILES,
        help="quick: embedded data, minutes (default); short: the paper's data, an evening on a CPU; paper: all of it",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these tables or figures")
    parser.add_argument("--seeds", type=int, default=1, help="seeds per cell of a table, for mean ± std (default: 1)")
    parser.add_argument("--methods", nargs="+", default=[], metavar="METHOD", help='e.g. FedAvg "FedCos(0.02)"')
    parser.add_argument("--settings", nargs="+", default=[], metavar="SETTING", help="e.g. sorted iid cifar10-0.1")
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="run a variant of a table (not of a figure), e.g. epsilon=1e-4",
    )
    parser.add_argument(
        "--at-once",
        type=int,
        metavar="N",
        help="run rows, settings and seeds together, N of them in one vmap on a device (default: what fits the memory "
        "of an accelerator; on a CPU one run after the other)",
    )
    parser.add_argument("--data-dir", help="folder of the datasets (default: FEDCOS_DATA_DIR)")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--again", action="store_true", help="run cells again that have a result")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    return parser


def reproduce(options: argparse.Namespace) -> None:
    """Runs and writes what the options choose."""
    require_at_least(1, seeds=options.seeds)
    if options.at_once is not None:
        require_at_least(1, **{"runs at once": options.at_once})
    require(all("=" in text for text in options.set), f"--set takes NAME=VALUE, got {' '.join(options.set)}")
    named = GROUPS.get(options.what, [options.what])
    for name in options.only:
        require_known(name, named, f"name in {options.what}")
    chosen = [name for name in named if name in options.only or not options.only]
    reproduce_tables([TABLES[name] for name in chosen if name in TABLES], options)
    reproduce_figures([FIGURES[name] for name in chosen if name in FIGURES], options)
    if options.what == "report":
        write.write_stored(options.profile, options.results_dir)
    write.write_report(options.profile, options.results_dir)


def reproduce_tables(tables: Sequence[Table], options: argparse.Namespace) -> None:
    """Runs the chosen cells of each table and writes its pages. A table without a chosen cell is skipped."""
    if not tables:
        return
    methods, settings = select(tables, options.methods, options.settings)
    variant = from_text(Config, dict(text.split("=", 1) for text in options.set))
    for table in tables:
        chosen = list(
            cells(table, options.profile, methods=methods, settings=settings, seeds=options.seeds, variant=variant)
        )
        _run(chosen, options)
        if chosen:
            print(markdown.render(table, options.profile, options.results_dir))
            write.write_table(table, options.profile, options.results_dir)


def reproduce_figures(figures: Sequence[Figure], options: argparse.Namespace) -> None:
    """Runs the chosen cells of each figure and draws it. A figure without a chosen cell is skipped."""
    if not figures:
        return
    require(not options.set, "--set runs a variant of a table; figures have none")
    methods, settings = select(
        [table for figure in figures for table in figure.tables], options.methods, options.settings
    )
    for figure in figures:
        chosen = list(figure.cells(options.profile, methods=methods, settings=settings, seeds=options.seeds))
        _run(chosen, options)
        if chosen or not figure.runs:
            write.draw(figure, options.profile, options.results_dir)


def _run(chosen: Sequence[Cell], options: argparse.Namespace) -> None:
    how = {"again": options.again, "show_progress": not options.quiet, "at_once": options.at_once}
    run_cells(chosen, options.results_dir, options.data_dir, **how)


if __name__ == "__main__":
    sys.exit(main())
