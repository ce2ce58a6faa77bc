"""A table's results as LaTeX, with the numbers of its Markdown page. It needs the packages booktabs and graphicx."""

from itertools import groupby
from pathlib import Path

from experiments.declare import Table
from experiments.pages.comparison import Entry, Number, compare, shown_columns, without_fedcos
from experiments.pages.markdown import preface
from fedcos_jax.runs.result import SUMMARY

ESCAPES = {"%": r"\%", "_": r"\_", "±": r"$\pm$", "&": r"\&", "#": r"\#"}


def render(table: Table, profile: str, folder: Path) -> str:
    """One floating table per value that is shown."""
    values = table.values + table.beside
    return "\n".join(_floating(table, profile, folder, value) for value in values)


def _floating(table: Table, profile: str, folder: Path, value: str) -> str:
    columns = shown_columns(table, profile, value)
    said = " ".join(line.replace("*", "") for line in preface(table.profiles[profile]) if line)
    caption = f"{table.title}, {profile} profile: test accuracy (%), {SUMMARY[value]}. {said}"
    count = len(columns) * len(table.settings)
    lines = [
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{_escape(caption)}}}",
        rf"\label{{tab:{table.name}-{profile}-{value.removesuffix('_accuracy')}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * count}}}",
        r"\toprule",
        *_headings(table, columns),
        *_body(compare(table, profile, folder, value), columns),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _headings(table: Table, columns: tuple[str, ...]) -> list[str]:
    """The headings of the settings, and below them those of their columns."""
    width = len(columns)
    over = [rf"\multicolumn{{{width}}}{{c}}{{{_escape(setting.heading)}}}" for setting in table.settings.values()]
    starts = range(2, 2 + width * len(table.settings), width)
    rules = " ".join(rf"\cmidrule(lr){{{start}-{start + width - 1}}}" for start in starts)
    return [_row(["", *over]), rules, _row(["Method", *columns * len(table.settings)])]


def _body(compared: dict[str, list[Entry]], columns: tuple[str, ...]) -> list[str]:
    """The methods, with the paper's rules between baselines, FedCos, and baselines with FedCos."""
    lines = []
    for _, group in groupby(compared.items(), lambda item: _kind(item[0])):
        lines.append(r"\midrule")
        for method, entries in group:
            lines.append(_row([method, *(_fields(entry)[column] for entry in entries for column in columns)]))
    return lines


def _kind(method: str) -> str:
    plain = without_fedcos(method)
    return {None: "baseline", "FedAvg": "FedCos alone"}.get(plain, "baseline with FedCos")


def _fields(entry: Entry) -> dict[str, str]:
    difference = "" if entry.difference is None else f"${entry.difference:+.2f}$"
    return {"paper": _number(entry.paper), "ours": _number(entry.ours), "difference": difference}


def _number(number: Number | None) -> str:
    if number is None:
        return ""
    text = f"{number.mean:.2f}"
    text = rf"\textbf{{{text}}}" if number.best else text
    text += "" if number.deviation is None else rf" $\pm$ {number.deviation:.2f}"
    return text + ("" if number.gain is None else f" (${number.gain:+.2f}$)")


def _row(fields: list[str]) -> str:
    return " & ".join(fields) + r" \\"


def _escape(text: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in text)
