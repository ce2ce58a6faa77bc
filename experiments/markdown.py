"""A table's results as Markdown: paper | ours | difference."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.table import Table
from fedcos_jax import results

Result = dict[str, Any]


def render(table: Table, profile: str, folder: Path) -> str:
    """The page of a table: every cell that has a result, then the variants that were run."""
    found = [results.read(path) for path in sorted((folder / profile / table.name).glob("*.json"))]
    standard = [result for result in found if not result["variant"]]
    variants = [result for result in found if result["variant"]]
    lines = [f"# {table.title}, `{profile}` profile", "", table.notes[profile], ""]
    lines += _main_rows(table, standard, against_paper=profile == "paper")
    if variants:
        lines += ["", "## Variants", "", *_variant_rows(standard, variants)]
    return "\n".join(lines) + "\n"


def _main_rows(table: Table, found: list[Result], *, against_paper: bool) -> list[str]:
    columns = ("paper", "ours", "difference") if against_paper else ("ours",)
    headings = [
        f"{setting}: {column}" if against_paper else setting for setting in table.settings for column in columns
    ]
    rows = [_row(["Method", *headings]), _row(["---"] + ["---:"] * len(headings))]
    for method in table.methods:
        row = [method]
        for partition, paper in zip(table.settings.values(), table.paper[method], strict=True):
            ours = [r["last_accuracy"] for r in found if (r["method"], r["partition"]) == (method, partition)]
            difference = f"{np.mean(ours) - paper:+.2f}" if ours else ""
            row += [f"{paper:.2f}", _mean(ours), difference] if against_paper else [_mean(ours)]
        rows.append(_row(row))
    return rows


def _variant_rows(standard: list[Result], variants: list[Result]) -> list[str]:
    rows = [_row(["Setting", "Method", "Seed", "Variant", "Accuracy", "Against the table's"]), _row(["---"] * 6)]
    for result in variants:
        where = {name: result[name] for name in ("partition", "method", "seed")}
        base = [r["last_accuracy"] for r in standard if where.items() <= r.items()]
        difference = f"{result['last_accuracy'] - base[0]:+.2f}" if base else ""
        variant = ", ".join(f"{name} = {value}" for name, value in result["variant"].items())
        rows.append(_row([*map(str, where.values()), variant, f"{result['last_accuracy']:.2f}", difference]))
    return rows


def _row(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


def _mean(values: list[float]) -> str:
    """Mean, and with several seeds the sample deviation."""
    if not values:
        return ""
    return f"{np.mean(values):.2f}" + (f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else "")
