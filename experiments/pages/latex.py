"""A table's results as LaTeX, with the numbers of its Markdown page. It needs the packages booktabs and graphicx."""

from itertools import groupby
from pathlib import Path

from experiments.declare import Table
from experiments.pages.comparison import Entry, Number, compare, shown_columns, without_fedcos
from experiments.pages.markdown import legend, preface
from fedcos_jax.runs.result import SUMMARY

ESCAPES = {"%": r"\%", "_": r"\_", "±": r"$\pm$", "&": r"\&", "#": r"\#"}


def render(table: Table, profile: str, folder: Path) -> str:
    """One floating table per value that is shown."""
    values = table.values + table.beside
    return "\n".join(_floating(table, profile, folder, value) for value in values)


def _floating(table: Table, profile: str, folder: Path, value: str) -> str:
    compared = compare(table, profile, folder, value)
    shown = [shown_columns(table, profile, value, entries) for entries in zip(*compared.values(), strict=True)]
    numbers = [*_headings(table, shown), *_body(compared, shown)]
    lines = [
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{_escape(_caption(table, profile, value, numbers))}}}",
        rf"\label{{tab:{table.name}-{profile}-{value.removesuffix('_accuracy')}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * sum(map(len, shown))}}}",
        r"\toprule",
        *numbers,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _caption(table: Table, profile: str, value: str, numbers: list[str]) -> str:
    marks = "\n".join(numbers).replace(ESCAPES["±"], "±")
    said = " ".join(line.replace("*", "") for line in preface(table.profiles[profile]) + legend(marks) if line)
    return f"{table.title}, {profile} profile: test accuracy (%), {SUMMARY[value]}. {said}"


def _headings(table: Table, shown: list[tuple[str, ...]]) -> list[str]:
    """The headings of the settings, and below them those of their columns."""
    over, rules, start = [], [], 2
    for setting, columns in zip(table.settings.values(), shown, strict=True):
        over.append(rf"\multicolumn{{{len(columns)}}}{{c}}{{{_escape(setting.heading)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + len(columns) - 1}}}")
        start += len(columns)
    return [_row(["", *over]), " ".join(rules), _row(["Method", *(name for columns in shown for name in columns)])]


def _body(compared: dict[str, list[Entry]], shown: list[tuple[str, ...]]) -> list[str]:
    """The methods, with the paper's rules between baselines, FedCos, and baselines with FedCos."""
    lines = []
    for _, group in groupby(compared.items(), lambda item: _kind(item[0])):
        lines.append(r"\midrule")
        for method, entries in group:
            fields = [_fields(entry)[name] for entry, columns in zip(entries, shown, strict=True) for name in columns]
            lines.append(_row([method, *fields]))
    return lines


def _kind(method: str) -> str:
    plain = without_fedcos(method)
    return {None: "baseline", "FedAvg": "FedCos alone"}.get(plain, "baseline with FedCos")


def _fields(entry: Entry) -> dict[str, str]:
    difference = "" if entry.difference is None else f"${entry.difference:+.2f}$"
    return {
        "paper": _number(entry.paper),
        "ours": _number(entry.ours),
        "difference": difference,
        "own draws": _number(entry.own_draws),
    }


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
