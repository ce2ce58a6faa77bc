"""A table's results as Markdown: paper | ours | difference."""

from pathlib import Path

from experiments.declare import Profile, Table
from experiments.pages.comparison import Entry, Number, compare, shown_columns, variants
from fedcos_jax.runs.result import SUMMARY

MARKS = {
    "±": "After ± stands the sample standard deviation over the seeds of a cell.",
    "own draws": "*Ours* has the draws of the authors' code where *own draws* stand beside it: initial parameters, "
    "shards and cohorts. *Own draws* are the same cells with draws of our own.",
}
"""What marks among the numbers mean."""


def render(table: Table, profile: str, folder: Path) -> str:
    """The page of a table: what was run, every cell that has a result, then the variants."""
    body: list[str] = []
    for value in table.values + table.beside:
        body += ["", f"## Test accuracy (%), {SUMMARY[value]}", "", *_rows(table, profile, folder, value)]
    rows = _variant_rows(table, profile, folder)
    if rows:
        body += ["", "## Variants", "", *rows]
    title = f"# {table.title}, `{profile}` profile"
    return "\n".join([title, "", *preface(table.profiles[profile]), *legend("\n".join(body)), *body]) + "\n"


def preface(profile: Profile) -> list[str]:
    """What a reader must know before the numbers. Stand-ins come first."""
    taken = [f"{new} stands in for {old}" for old, new in profile.stand_ins.items()]
    honest = f"**Not the paper's experiment: {', '.join(taken)}.** Compare gains and order, not levels."
    brackets = "A number in brackets is the gain of a method with FedCos over the same method without it."
    return [*([honest, ""] if taken else []), f"{profile.note} {brackets}"]


def legend(numbers: str) -> list[str]:
    """What the marks mean that stand among the numbers."""
    said = [words for mark, words in MARKS.items() if mark in numbers]
    return ["", " ".join(said)] if said else []


def _rows(table: Table, profile: str, folder: Path, value: str) -> list[str]:
    compared = compare(table, profile, folder, value)
    shown = [shown_columns(table, profile, value, entries) for entries in zip(*compared.values(), strict=True)]
    settings = list(zip(table.settings.values(), shown, strict=True))
    headings = [f"{setting.heading}: {column}" for setting, columns in settings for column in columns]
    rows = [_row(["Method", *headings]), _row(["---"] + ["---:"] * len(headings))]
    for method, entries in compared.items():
        fields = [_fields(entry)[name] for entry, columns in zip(entries, shown, strict=True) for name in columns]
        rows.append(_row([method, *fields]))
    return rows


def _fields(entry: Entry) -> dict[str, str]:
    return {
        "paper": _number(entry.paper),
        "ours": _number(entry.ours),
        "difference": _signed(entry.difference),
        "own draws": _number(entry.own_draws),
    }


def _signed(difference: float | None) -> str:
    return "" if difference is None else f"{difference:+.2f}"


def _number(number: Number | None) -> str:
    if number is None:
        return ""
    text = f"{number.mean:.2f}" + ("" if number.deviation is None else f" ± {number.deviation:.2f}")
    return (f"**{text}**" if number.best else text) + ("" if number.gain is None else f" ({number.gain:+.2f})")


def _variant_rows(table: Table, profile: str, folder: Path) -> list[str]:
    headings = [heading for value in table.values for heading in (f"Accuracy, {SUMMARY[value]}", "Against the table's")]
    rows = [_row(["Setting", "Method", "Variant", "Seeds", *headings]), _row(["---"] * 4 + ["---:"] * len(headings))]
    for setting, method, name, seeds, numbers in variants(table, profile, folder):
        shown = [text for number, difference in numbers for text in (_number(number), _signed(difference))]
        rows.append(_row([setting, method, name, ", ".join(map(str, seeds)), *shown]))
    return rows if len(rows) > 2 else []


def _row(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"
