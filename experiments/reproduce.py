"""Runs the tables of the paper: `python -m experiments.reproduce table2 --profile paper`."""

import argparse
import sys
from pathlib import Path

from experiments import markdown, table2
from experiments.table import RESULTS, Table, cells, run_cell
from fedcos_jax import results
from fedcos_jax.cli import guard
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.experiment import from_text

TABLES: dict[str, Table] = {table.name: table for table in (table2.TABLE,)}


def main(arguments: list[str] | None = None) -> int:
    return guard("reproduce", reproduce, parser().parse_args(arguments))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.reproduce",
        description="Runs a table of the paper, one JSON file a cell, and writes it as Markdown. "
        "Cells that already have a result are not run again.",
    )
    parser.add_argument("table", choices=[*TABLES, "all"], help="which table")
    parser.add_argument("--profile", default="quick", choices=["quick", "paper"], help="default: quick")
    parser.add_argument("--seeds", type=int, default=1, help="seeds a cell, for mean ± std (default: 1)")
    parser.add_argument("--methods", nargs="+", default=[], metavar="METHOD", help='e.g. FedAvg "FedCos(0.02)"')
    parser.add_argument("--settings", nargs="+", default=[], metavar="PARTITION", help="e.g. sorted mixed90 iid")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="a variant of the table, e.g. epsilon=1e-4"
    )
    parser.add_argument("--data-dir", help="folder of the datasets (default: FEDCOS_DATA_DIR)")
    parser.add_argument("--results-dir", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--again", action="store_true", help="run cells again that have a result")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    return parser


def reproduce(options: argparse.Namespace) -> None:
    require_at_least(1, seeds=options.seeds)
    require(all("=" in text for text in options.set), f"--set takes NAME=VALUE, got {' '.join(options.set)}")
    variant = from_text(dict(text.split("=", 1) for text in options.set))
    for table in TABLES.values() if options.table == "all" else [TABLES[options.table]]:
        chosen = list(
            cells(
                table,
                options.profile,
                methods=tuple(options.methods),
                settings=tuple(options.settings),
                seeds=options.seeds,
                variant=variant,
            )
        )
        for cell in chosen:
            run_cell(cell, options.results_dir, options.data_dir, again=options.again, show_progress=not options.quiet)
        path = options.results_dir / options.profile / f"{table.name}.md"
        text = markdown.render(table, options.profile, options.results_dir)
        results.write_text(path, text)
        print(text)
        print(f"Written to {path}, cells in {path.with_suffix('')}")


if __name__ == "__main__":
    sys.exit(main())
