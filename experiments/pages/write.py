"""Writes what readers see of a profile: the pages of tables, the pictures of figures, and the report."""

from importlib.util import find_spec
from pathlib import Path

from experiments.declare import Table
from experiments.figures import FIGURES
from experiments.figures.figure import Figure, as_png
from experiments.pages import latex, markdown
from experiments.tables import TABLES
from fedcos_jax.errors import require
from fedcos_jax.runs import files


def write_table(table: Table, profile: str, folder: Path) -> None:
    """Writes a table as Markdown and as LaTeX."""
    path = folder / profile / f"{table.name}.md"
    files.write_text(path, markdown.render(table, profile, folder))
    files.write_text(path.with_suffix(".tex"), latex.render(table, profile, folder))
    print(f"Written to {path} and {path.with_suffix('.tex').name}; its cells are in {path.with_suffix('')}.")


def draw(figure: Figure, profile: str, folder: Path) -> None:
    """Draws a figure, if there are results to draw."""
    if figure.store is not None:
        figure.store(profile, folder)
    panels = figure.panels(profile, folder)
    if not panels:
        print(f"{figure.title}: nothing to draw from these runs alone")
        return
    path = folder / profile / "figures" / f"{figure.name}.png"
    files.write_bytes(path, as_png(panels, figure.columns, figure.caption(profile, folder)))
    print(f"{figure.title}: {path}")


def write_stored(profile: str, folder: Path) -> None:
    """Writes every table and draws every figure that has results. Figures without runs are the same in all profiles."""
    for table in TABLES.values():
        if (folder / profile / table.name).is_dir():
            write_table(table, profile, folder)
    for figure in FIGURES.values():
        if (figure.runs or profile == "paper") and figure.panels(profile, folder):
            draw(figure, profile, folder)


def write_report(profile: str, folder: Path) -> None:
    """Writes the report of all tables and figures."""
    require(find_spec("jinja2") is not None, "the report needs jinja2: pip install jinja2")
    from experiments.pages.report import page

    path = folder / profile / "report.html"
    files.write_text(path, page.render(list(TABLES.values()), list(FIGURES.values()), profile, folder))
    print(f"Report: {path}")
