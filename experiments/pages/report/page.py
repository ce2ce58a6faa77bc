"""The page of the report: gathers what the template shows from the results on disk."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from experiments.declare import Table
from experiments.figures.figure import Figure, as_svg
from experiments.pages.comparison import Entry, Variant, compare, shown_columns, variants
from experiments.pages.report import overview
from experiments.pages.report.claims import ACCURACY_TOLERANCE, CLAIMS, WORDS, Verdict, judge
from experiments.pages.report.rules import ONE_SEED
from experiments.pages.report.sources import Ours
from experiments.store import Result, stored, stored_variants
from fedcos_jax.runs.result import SUMMARY

PER_CELL = ("method", "seed")
"""The settings that differ from run to run in any case."""


class Column(NamedTuple):
    """One setting of a table, methods down."""

    heading: str
    value: str
    """Which accuracy it is, in words. Empty if there is only one."""
    shown: tuple[str, ...]
    """The parts of each row: paper, ours, difference, own draws."""
    rows: list[tuple[str, Entry]]


class Run(NamedTuple):
    """A result on disk."""

    setting: str
    result: Result
    own: dict[str, Any]
    """The settings in which it differs from other runs."""


class TableView(NamedTuple):
    """A table as the page shows it."""

    table: Table
    note: str
    stand_ins: list[str]
    columns: list[Column]
    """One per setting and value that has a result."""
    variants: list[Variant]
    runs: list[Run]
    common: dict[str, Any]
    """The config that the runs share."""
    versions: list[dict[str, str]]
    cells: int
    missing: dict[str, list[str]]
    """Heading of a setting -> methods without a result."""


class FigureView(NamedTuple):
    """A figure as the page shows it."""

    figure: Figure
    caption: list[str]
    panels: list[tuple[str, Markup]]
    """Title and SVG."""
    scenes: list[TableView]
    """The runs that belong to no table."""
    shared: list[str]
    """Titles of the tables whose runs it shows."""
    cells: int
    missing: int


def render(tables: Sequence[Table], figures: Sequence[Figure], profile: str, folder: Path) -> str:
    """The report of a profile as HTML, complete in itself."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    verdicts = judged(profile, folder)
    rows = overview.overview(profile, folder)
    table_views = [view_table(table, profile, folder) for table in tables]
    names = {table.name for table in tables}
    views = [view_figure(figure, names, profile, folder) for figure in figures]
    return environment.get_template("page.html.jinja").render(
        profile=profile,
        summary=overview.summary(profile, rows, verdicts),
        overview=rows,
        claims=[verdict for verdict in verdicts if not verdict.claim.own],
        own_claims=[verdict for verdict in verdicts if verdict.claim.own],
        all_words=WORDS,
        tables=table_views,
        own_figures=[view for view in views if not view.figure.paper],
        figures=[view for view in views if view.figure.paper],
        tolerance=ACCURACY_TOLERANCE,
        one_seed=ONE_SEED,
        words=SUMMARY,
    )


def judged(profile: str, folder: Path) -> list[Verdict]:
    """Every claim with its verdict."""
    return [judge(claim, Ours(profile, folder), schedule_of_paper=profile == "paper") for claim in CLAIMS]


def view_table(table: Table, profile: str, folder: Path) -> TableView:
    """The numbers of a table, its runs, and what is missing."""
    found = {
        setting: {method: stored(table, profile, folder, setting, method) for method in table.methods}
        for setting in table.settings
    }
    runs = [(setting, result) for setting, by in found.items() for results in by.values() for result in results]
    runs += stored_variants(table, profile, folder)
    configs = [result["config"] for _, result in runs]
    common = {name: value for name, value in (configs or [{}])[0].items() if all(c.get(name) == value for c in configs)}
    common = {name: value for name, value in common.items() if name not in PER_CELL}
    own = [{name: value for name, value in c.items() if name not in common and name not in PER_CELL} for c in configs]
    missing = {
        table.settings[setting].heading: [method for method, results in by.items() if not results]
        for setting, by in found.items()
    }
    chosen = table.profiles[profile]
    return TableView(
        table=table,
        note=chosen.note,
        stand_ins=[f"{new} stands in for {old}" for old, new in chosen.stand_ins.items()],
        columns=list(_columns(table, profile, folder)),
        variants=list(variants(table, profile, folder)),
        runs=[Run(setting, result, own[i]) for i, (setting, result) in enumerate(runs)],
        common=common,
        versions=_distinct([result["versions"] for _, result in runs]),
        cells=len(table.settings) * len(table.methods),
        missing={heading: methods for heading, methods in missing.items() if methods},
    )


def _columns(table: Table, profile: str, folder: Path) -> Iterator[Column]:
    shown = table.values + table.beside
    for value in shown:
        numbers = compare(table, profile, folder, value)
        for i, setting in enumerate(table.settings.values()):
            rows = [(method, entries[i]) for method, entries in numbers.items()]
            if any(entry.ours or entry.own_draws for _, entry in rows):
                name = SUMMARY[value] if len(shown) > 1 else ""
                columns = shown_columns(table, profile, value, [entry for _, entry in rows])
                yield Column(setting.heading, name, columns, rows)


def _distinct(items: list[dict[str, str]]) -> list[dict[str, str]]:
    return [item for i, item in enumerate(items) if item not in items[:i]]


def view_figure(figure: Figure, shown: set[str], profile: str, folder: Path) -> FigureView:
    """Pictures and numbers of a figure. Runs of a table that the page shows are only named."""
    panels = figure.panels(profile, folder)
    cells = list(figure.cells(profile))
    return FigureView(
        figure=figure,
        caption=figure.caption(profile, folder).splitlines(),
        panels=[(panel.title, Markup(as_svg(panel, f"{figure.name}-{i}"))) for i, panel in enumerate(panels)],
        scenes=[view_table(table, profile, folder) for table in figure.tables if table.name not in shown],
        shared=[table.title for table in figure.tables if table.name in shown],
        cells=len(cells),
        missing=sum(not cell.path(folder).exists() for cell in cells),
    )
