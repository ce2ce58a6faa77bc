"""`fedcos plot`: the results of any runs in one picture."""

import argparse
from pathlib import Path
from typing import Any

from fedcos_jax.cli import charts
from fedcos_jax.errors import require, require_known
from fedcos_jax.runs import files
from fedcos_jax.runs.result import OF_ROUNDS


def add_plot(commands) -> None:
    """Adds `plot` to the subcommands."""
    command = commands.add_parser(
        "plot",
        help="compare the results of runs in a picture",
        description="Draws one column of the history of each result. A line is labelled with the settings that differ.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos plot a.json b.json                           test accuracy, in accuracy.png
  fedcos plot results/paper/table2/sorted_*.json --value global_move --out moves.pdf""",
    )
    command.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="JSON file of `fedcos run --out`")
    command.add_argument(
        "--value", default="accuracy", help="column of the history, like accuracy or cosine_mean (default: accuracy)"
    )
    command.add_argument("--out", type=Path, metavar="FILE", help="a .png, .pdf or .svg file (default: VALUE.png)")
    command.set_defaults(command=draw)


def draw(options: argparse.Namespace) -> None:
    runs = [files.read(path) for path in options.results]
    for path, run in zip(options.results, runs, strict=True):
        parts = [run.get(name) for name in ("config", "history")] if isinstance(run, dict) else []
        whole = parts and all(isinstance(part, dict) for part in parts) and "round" in run["history"]
        require(bool(whole), f"{path} is not a result of `fedcos run --out`")
        require_known(options.value, run["history"], f"column of {path}:")
    out = options.out or Path(f"{options.value}.png")
    names = labels([run["config"] for run in runs], list(map(str, options.results)))
    curves = [(name, *curve(run["history"], options.value)) for name, run in zip(names, runs, strict=True)]
    charts.draw_curves(curves, options.value.replace("_", " "), out)
    print(f"{out}: {options.value} of {len(runs)} runs")


def curve(history: dict[str, list], column: str) -> tuple[list, list]:
    """The rounds, and the column's values in them."""
    values = history[column]
    return (list(range(1, len(values) + 1)) if column in OF_ROUNDS else history["round"]), values


def labels(configs: list[dict[str, Any]], names: list[str]) -> list[str]:
    """A label per run: the settings in which the runs differ, and its name if another run has the same settings."""
    every = dict.fromkeys(name for config in configs for name in config)
    differing = [name for name in every if any(c.get(name) != configs[0].get(name) for c in configs)]
    order = sorted(differing, key=lambda name: name != "method")
    texts = [", ".join(_part(name, config.get(name)) for name in order) for config in configs]
    alone = [bool(text) and texts.count(text) == 1 for text in texts]
    return [
        text if unique else f"{text} ({name})" if text else name
        for text, unique, name in zip(texts, alone, names, strict=True)
    ]


def _part(name: str, value: Any) -> str:
    return str(value) if name in ("method", "dataset", "model", "partition") else f"{name.replace('_', ' ')} {value}"
