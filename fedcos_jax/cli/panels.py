"""The picture of a sweep: a line or points over one axis, a heat map over two, and a panel per value of the others."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedcos_jax.cli import charts
from fedcos_jax.runs.result import SUMMARY
from fedcos_jax.runs.sweeps import SCORE, Summary

MOST_AXES = 4
"""Axes with several values that a picture can show: x, y, and columns and rows of panels."""
_LETTER = 0.085
"""Width of a letter of a label in inches."""
_WIDEST = 40.0
"""Inches that the cells of all panels may take. Smaller cells have no numbers."""


def shown_axes(axes: dict[str, list]) -> list[str]:
    """The axes that a picture has to show: those with several values, without the seed unless there is nothing else."""
    several = [name for name, values in axes.items() if len(values) > 1]
    without = [name for name in several if name != "seed"]
    return without or several[:1] or [next(iter(axes))]


def draw_sweep(axes: dict[str, list], points: Sequence[Summary], whole: int, path: Path) -> None:
    """Draws the mean of the last round over seeds.

    Args:
        axes: the values by name. At most four have several values.
        points: the points, one per combination of the values of `shown_axes`.
        whole: rounds of a whole run. Points that stopped earlier are marked.
        path: the image file. Its ending is the format.
    """
    charts.require_format(path)
    from matplotlib.figure import Figure

    names = shown_axes(axes)
    by_place = {tuple(point.point[name] for name in names): point for point in points}
    picture = Figure(layout="constrained")
    if len(names) == 1:
        _draw_one_axis(picture, _words(names[0]), axes[names[0]], [by_place[value,] for value in axes[names[0]]], whole)
    else:
        _draw_heat_maps(picture, {name: axes[name] for name in names}, by_place, whole)
    fixed = [f"{_words(name)} {values[0]}" for name, values in axes.items() if name not in (*names, "seed")]
    if fixed:
        picture.suptitle(textwrap.fill(", ".join(fixed), int(picture.get_figwidth() / _LETTER)), fontsize="medium")
    charts.save(picture, path)


def _title(points: Sequence[Summary]) -> str:
    seeds = max(point.seeds for point in points)
    return f"test accuracy (%),\n{SUMMARY[SCORE]}" + (f",\nmean of {seeds} seeds ± std" if seeds > 1 else "")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _label(value: Any) -> str:
    """A value as the label of a tick. The terms of a long method stand on lines of their own."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("+", "\n+") if len(text) > 12 else text


def _length(labels: Sequence[str]) -> int:
    """Letters in the longest line of the labels."""
    return max(len(line) for label in labels for line in label.split("\n"))


def _draw_one_axis(picture: Any, name: str, values: list, points: Sequence[Summary], whole: int) -> None:
    """A line with a band over numbers, or points with error bars over names."""
    labels = list(map(_label, values))
    are_numbers = len(values) > 1 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    mean = np.array([point.values[SCORE].mean for point in points])
    deviation = np.array([point.values[SCORE].deviation or 0.0 for point in points])
    stopped = np.array([point.missing(whole) > 0 for point in points])
    longest = _length(labels)
    turned = not are_numbers and longest * _LETTER > 0.9
    width = 6.0 if are_numbers else min(_WIDEST, max(4.5, 1.2 + 1.0 * len(values)))
    picture.set_size_inches(width, 4 + (0.75 * longest * _LETTER if turned else 0.15 * max(map(len, labels)) / 12))
    axes = picture.add_subplot(xlabel=name, ylabel=_title(points))
    if are_numbers:
        order = np.argsort(np.array(values, float))
        x = np.array(values, float)[order]
        mean, deviation, stopped = mean[order], deviation[order], stopped[order]
        (line,) = axes.plot(x, mean, color="tab:blue")
        if deviation.any():
            axes.fill_between(x, mean - deviation, mean + deviation, alpha=0.2, color=line.get_color(), linewidth=0)
    else:
        x = np.arange(len(values))
        axes.errorbar(x, mean, deviation if deviation.any() else None, fmt="none", ecolor="tab:blue", capsize=4)
        axes.set_xlim(-0.6, len(values) - 0.4)
        axes.set_xticks(x, labels, **(_TURNED if turned else {}))
    axes.plot(x[~stopped], mean[~stopped], "o", color="tab:blue", label="whole run")
    if stopped.any():
        axes.plot(x[stopped], mean[stopped], "o", color="tab:blue", mfc="white", label="stopped by halving")
        axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


_TURNED: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}


def _draw_heat_maps(picture: Any, axes: dict[str, list], by_place: dict[tuple, Summary], whole: int) -> None:
    """A heat map over the first two axes, per value of the others."""
    names = list(axes)
    x, y, *others = (axes[name] for name in names)
    columns, rows = _panel_counts(*map(len, others))
    x_labels, y_labels = list(map(_label, x)), list(map(_label, y))
    has_spread = any(point.values[SCORE].deviation is not None for point in by_place.values())
    cell = min(0.95 if has_spread else 0.8, _WIDEST / (columns * len(x)))
    height = min(0.6 if has_spread else 0.5, _WIDEST / (rows * len(y)))
    height = max(height, 2.2 / (rows * len(y)))  # so that the label of the colours has room
    turned = _length(x_labels) * _LETTER > cell
    below = 0.5 + (
        0.7 * _length(x_labels) * _LETTER if turned else 0.17 * max(text.count("\n") + 1 for text in x_labels)
    )
    picture.set_size_inches(
        max(4.0, columns * (cell * len(x) + 0.35) + _length(y_labels) * _LETTER + 1.9),
        max(2.4, rows * (height * len(y) + below + (0.35 if others else 0.0)) + 0.6),
    )
    panels = picture.subplots(rows, columns, squeeze=False)
    places = _combinations(others)
    values = [point.values[SCORE].mean for point in by_place.values()]
    limits = {"vmin": np.nanmin(values), "vmax": np.nanmax(values)}
    title = _title(list(by_place.values()))
    if any(point.missing(whole) > 0 for point in by_place.values()):
        title += "\n(at n: stopped after n rounds)"
    for number, (panel, place) in enumerate(zip(panels.flat, places, strict=False)):
        found = [[by_place[(a, b, *place)] for a in x] for b in y]
        means = np.array([[point.values[SCORE].mean for point in line] for line in found])
        image = panel.imshow(means, aspect="auto", origin="lower", cmap="viridis", **limits)
        _label_ticks(panel.xaxis, x_labels, cell, _TURNED if turned else {})
        _label_ticks(panel.yaxis, y_labels if number % columns == 0 else [""] * len(y), height, {})
        panel.set_title(", ".join(f"{_words(n)} {v}" for n, v in zip(names[2:], place, strict=True)), fontsize="medium")
        if cell >= 0.5 and height >= 0.3:
            _write_numbers(panel, found, sum(limits.values()) / 2, whole)
    for empty in panels.flat[len(places) :]:
        empty.set_visible(False)
    for panel in panels.flat[max(0, len(places) - columns) : len(places)]:
        panel.set_xlabel(_words(names[0]))
    for panel in panels[:, 0]:
        panel.set_ylabel(_words(names[1]))
    picture.colorbar(image, ax=panels, label=title)


def _panel_counts(*lengths: int) -> tuple[int, int]:
    """Columns and rows of panels. The values of one axis are wrapped into rows of similar length."""
    if len(lengths) == 2:
        return lengths
    count = math.prod(lengths)
    rows = math.ceil(count / 4)
    return math.ceil(count / rows), rows


def _combinations(others: list[list]) -> list[tuple]:
    """The values of the further axes, panel by panel: the third axis goes along columns, the fourth along rows."""
    if len(others) == 2:
        return [(column, row) for row in others[1] for column in others[0]]
    return [(value,) for value in others[0]] if others else [()]


def _label_ticks(axis: Any, labels: list[str], size: float, style: dict[str, Any]) -> None:
    """Labels the cells. If they are smaller than the letters, only some of them get a label."""
    step = max(1, math.ceil(0.18 / size))
    axis.set_ticks(range(0, len(labels), step), labels[::step], **style)


def _write_numbers(panel: Any, found: list[list[Summary]], middle: float, whole: int) -> None:
    """Writes each cell's number, and after how many rounds it was stopped."""
    for row, line in enumerate(found):
        for column, point in enumerate(line):
            value = point.values[SCORE]
            text = f"{value.mean:.1f}" + ("" if value.deviation is None else f"\n±{value.deviation:.1f}")
            if point.missing(whole) > 0:
                text = f"{text} at {point.rounds}" if value.deviation is not None else f"{text}\nat {point.rounds}"
            colour = "black" if value.mean > middle else "white"
            panel.text(column, row, text, ha="center", va="center", color=colour, fontsize="small")
