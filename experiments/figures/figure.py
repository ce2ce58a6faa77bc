"""What a figure of the paper is, and how its panels become pictures.

A figure is the runs that it shows, which are cells of tables, and the panels drawn from their results. The report
draws each panel alone, so that panels wrap on a narrow screen. The file has all of them, and says which data it shows.
"""

import hashlib
import io
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from PIL import Image

from experiments.declare import Cell, Table, cells
from experiments.store import stored

INK = "#24292f"
"""The colour of text and axes. In an SVG it becomes the colour of the text around it, so that dark pages work."""
STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "lines.linewidth": 1.7,
    "svg.fonttype": "none",
    "svg.hashsalt": "fedcos",
} | dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
PANEL_SIZE = (4.6, 3.5)
"""In inches. If a panel is as wide as a phone, its letters are as large as the text of a page."""
LINE_HEIGHT, LETTERS = 0.22, 55
"""Of the heading: inches per line, and letters per line above one panel."""
LEGEND_COLUMNS, LEGEND_ROWS = 2, 2
"""Of the legend: columns per panel, and the rows that fit below a panel of the usual height."""
SHOWS = "Shows"
"""The field of a PNG file that says which data it shows."""


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    draw: Callable[[Axes], None]
    data: Any
    """What is drawn, as plain values."""


class Runs(NamedTuple):
    """Cells of a table that a figure shows."""

    table: Table
    methods: tuple[str, ...]
    settings: tuple[str, ...]


class Figure(NamedTuple):
    """A figure of the paper."""

    name: str
    title: str
    paper: str
    """What the paper shows. Empty for a figure of our own."""
    runs: tuple[Runs, ...]
    panels: Callable[[str, Path], list[Panel]]
    """(profile, results folder) -> the panels that can be drawn from the results on disk."""
    columns: int = 3
    seeds: int = 1
    """The seeds that each of its cells has at least."""
    store: Callable[[str, Path], None] | None = None
    """Stores what its panels show besides runs, in the results folder of a profile."""

    def cells(
        self, profile: str, *, methods: Sequence[str] = (), settings: Sequence[str] = (), seeds: int = 1
    ) -> Iterator[Cell]:
        """The cells of its runs: all of them, or those of the methods and settings given."""
        for runs in self.runs:
            chosen_methods = [name for name in runs.methods if name in methods or not methods]
            chosen_settings = [name for name in runs.settings if name in settings or not settings]
            if chosen_methods and chosen_settings:
                yield from cells(
                    runs.table, profile, methods=chosen_methods, settings=chosen_settings, seeds=max(seeds, self.seeds)
                )

    def caption(self, profile: str, folder: Path) -> str:
        """What stands in for the paper's data and models, the notes of the profiles of its runs, and what bands are."""
        begun = {cell.experiment for cell in self.cells(profile) if cell.path(folder).exists()}
        chosen = {table.title: table.profiles[profile] for table in self.tables if table.name in begun or not begun}
        taken = {f"{new} for {old}" for one in chosen.values() for old, new in one.stand_ins.items()}
        honest = [f"Not the paper's experiment: {', '.join(sorted(taken))}."] if taken else []
        notes = [f"{title}. {one.note}" if len(chosen) > 1 else one.note for title, one in chosen.items()]
        return "\n".join(honest + notes + self._bands(profile, folder))

    def _bands(self, profile: str, folder: Path) -> list[str]:
        seeds = [
            [result["seed"] for result in stored(runs.table, profile, folder, setting, method)]
            for runs in self.runs
            for setting in runs.settings
            for method in runs.methods
        ]
        most = max(seeds, key=len, default=[])
        known = ", ".join(map(str, most))
        return [f"Lines are means over seeds (at most {known}), and bands are their range."] if len(most) > 1 else []

    @property
    def tables(self) -> list[Table]:
        """The tables that its runs are cells of."""
        return list({runs.table.name: runs.table for runs in self.runs}.values())


def compose(panels: Sequence[Panel], columns: int = 1, heading: str = "") -> Canvas:
    """The panels in rows, with one legend below for all of them."""
    columns = min(columns, len(panels))
    with matplotlib.rc_context(STYLE):
        rows = -(-len(panels) // columns)
        wrapped = [part for line in heading.splitlines() for part in textwrap.wrap(line, LETTERS * columns)]
        canvas = Canvas(figsize=(PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows), layout="constrained")
        legend: dict[str, Artist] = {}
        for i, panel in enumerate(panels):
            axes = canvas.add_subplot(rows, columns, i + 1)
            panel.draw(axes)
            axes.set_title(panel.title)
            legend |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        across = LEGEND_COLUMNS * columns
        if legend:
            canvas.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=across)
        extra = max(0, -(-len(legend) // across) - LEGEND_ROWS)
        canvas.set_figheight(PANEL_SIZE[1] * rows + LINE_HEIGHT * (len(wrapped) + extra))
        canvas.suptitle("\n".join(wrapped), fontsize=11)
        return canvas


def fingerprint(panels: Sequence[Panel], heading: str = "") -> str:
    """A hash of what the panels show: their words and their data. It does not depend on how they are drawn."""
    shown = [heading, [(panel.title, panel.data) for panel in panels]]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def as_png(panels: Sequence[Panel], columns: int = 1, heading: str = "") -> bytes:
    """The panels as a file, with dark ink on white. The file carries their fingerprint."""
    stream = io.BytesIO()
    about = {"Software": None, SHOWS: fingerprint(panels, heading)}
    compose(panels, columns, heading).savefig(stream, format="png", dpi=150, metadata=about)
    return stream.getvalue()


def shown_by(path: Path) -> str | None:
    """The fingerprint that a file carries."""
    with Image.open(path) as picture:
        return picture.info.get(SHOWS)


def as_svg(panel: Panel, name: str) -> str:
    """A panel as an SVG element for a page. Its ids are unique to `name`, and its ink is the page's."""
    canvas = compose([panel])
    stream = io.StringIO()
    with matplotlib.rc_context(STYLE):
        canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return re.sub(r' width="[^"]*pt" height="[^"]*pt"| (?:height|width)="[^"]*pt"', "", svg, count=2)
