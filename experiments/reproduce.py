"""Runs the tables and figures of the paper: `python -m experiments.reproduce tables --profile paper --only table2`."""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from experiments import latex, markdown, table1, table2, table3, table4, table5
from experiments.figures import FIGURES
from experiments.figures.figure import Figure, as_png, compose
from experiments.table import PROFILES, RESULTS, Cell, Table, cells, run_cells, select
from fedcos_jax.engine import devices
from fedcos_jax.runs import files
from fedcos_jax.cli.fedcos import guard
from fedcos_jax.engine.compilation import keep_compiled_programs
from fedcos_jax.errors import require, require_at_least, require_known
from fedcos_jax.runs.config import from_text

TABLES: dict[str, Table] = {module.TABLE.name: module.TABLE for module in (table1, table2, table3, table4, table5)}
GROUPS: dict[str, list[str]] = {"tables": list(TABLES), "figures": list(FIGURES), "report": []}


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    devices.use_all_cores()
    keep_compiled_programs()
    return guard("reproduce", reproduce, options)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="Runs the tables or figures of the paper, one JSON file a cell. Cells that already have a result "
        "are not run again, so an interrupted run goes on where it stopped.",
    )
    parser.add_argument(
        "what",
        choices=[*GROUPS, *TABLES, *FIGURES],
        help="a table, a figure, all of a kind, or only the report, with the pages and figures of what has been run",
    )
    parser.add_argument(
        "--profile",
        default="quick",
        choices=PROFILES,
        help="quick: embedded data, minutes (default); short: the paper's data, an evening on a CPU; paper: all of it",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="of all of a kind, these: table1 table4")
    parser.add_argument("--seeds", type=int, default=1, help="seeds a cell of a table, for mean ± std (default: 1)")
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
        help="rows, settings and seeds as one sweep, so many runs in one vmap on a device (default: what fits the "
        "memory of an accelerator; on a CPU one run after the other)",
    )
    parser.add_argument("--data-dir", help="folder of the datasets (default: FEDCOS_DATA_DIR)")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--again", action="store_true", help="run cells again that have a result")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    return parser


def reproduce(options: argparse.Namespace) -> None:
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
        show_stored(options)
    write_report(options)


def run_with(options: argparse.Namespace, chosen: Sequence[Cell]) -> None:
    how = {"again": options.again, "show_progress": not options.quiet, "at_once": options.at_once}
    run_cells(chosen, options.results_dir, options.data_dir, **how)


def reproduce_tables(tables: Sequence[Table], options: argparse.Namespace) -> None:
    """Runs the chosen cells of each table and writes its pages; a table without any is passed over."""
    if not tables:
        return
    methods, settings = select(tables, options.methods, options.settings)
    variant = from_text(dict(text.split("=", 1) for text in options.set))
    for table in tables:
        chosen = list(
            cells(table, options.profile, methods=methods, settings=settings, seeds=options.seeds, variant=variant)
        )
        run_with(options, chosen)
        if chosen:
            print(markdown.render(table, options.profile, options.results_dir))
            write_pages(table, options)


def write_pages(table: Table, options: argparse.Namespace) -> None:
    path = options.results_dir / options.profile / f"{table.name}.md"
    files.write_text(path, markdown.render(table, options.profile, options.results_dir))
    files.write_text(path.with_suffix(".tex"), latex.render(table, options.profile, options.results_dir))
    print(f"Written to {path} and {path.with_suffix('.tex').name}; its cells are in {path.with_suffix('')}.")


def reproduce_figures(figures: Sequence[Figure], options: argparse.Namespace) -> None:
    """Runs the chosen cells of each figure and draws it; a figure of which none is chosen is passed over."""
    if not figures:
        return
    require(not options.set, "--set runs a variant of a table; figures have none")
    methods, settings = select(
        [table for figure in figures for table in figure.tables], options.methods, options.settings
    )
    for figure in figures:
        chosen = list(figure.cells(options.profile, methods=methods, settings=settings, seeds=options.seeds))
        run_with(options, chosen)
        if chosen or not figure.runs:
            draw(figure, options)


def draw(figure: Figure, options: argparse.Namespace) -> None:
    path = options.results_dir / options.profile / "figures" / f"{figure.name}.png"
    panels = figure.panels(options.profile, options.results_dir)
    if not panels:
        print(f"{figure.title}: nothing to draw from these runs alone")
        return
    caption = figure.caption(options.profile, options.results_dir)
    files.write_bytes(path, as_png(compose(panels, figure.columns, caption)))
    print(f"{figure.title}: {path}")


def show_stored(options: argparse.Namespace) -> None:
    """Writes the pages of every table, and draws every figure, that has results; nothing is run."""
    for table in TABLES.values():
        if (options.results_dir / options.profile / table.name).is_dir():
            write_pages(table, options)
    for figure in FIGURES.values():
        if figure.runs and figure.panels(options.profile, options.results_dir):
            draw(figure, options)


def write_report(options: argparse.Namespace) -> None:
    require(find_spec("jinja2") is not None, "the report needs jinja2: pip install jinja2")
    from experiments.report import page

    path = options.results_dir / options.profile / "report.html"
    text = page.render(list(TABLES.values()), list(FIGURES.values()), options.profile, options.results_dir)
    files.write_text(path, text)
    print(f"Report: {path}")


if __name__ == "__main__":
    sys.exit(main())
