"""Pictures that show who owns which rows, and how runs compare."""

import io
from pathlib import Path

import numpy as np

from fedcos_jax.data.partition import Ownership
from fedcos_jax.errors import require
from fedcos_jax.runs import files

_MOST_DOTS = 1500
FORMATS = (".png", ".pdf", ".svg")


def class_counts(labels: np.ndarray, ownership: Ownership, classes: int) -> np.ndarray:
    """Rows of each class at each client, [clients, classes]."""
    clients = ownership.num_clients
    owner = np.repeat(np.arange(clients), np.diff(ownership.offsets))
    cells = owner * classes + np.asarray(labels)[ownership.indices]
    return np.bincount(cells, minlength=clients * classes).reshape(clients, classes)


def draw_partition(counts: np.ndarray, title: str, path: Path) -> None:
    """Draws clients x classes as dots whose area is the number of rows, or as a heat map if there are too many dots.

    Args:
        counts: rows of each class at each client, [clients, classes].
        title: the title of the picture.
        path: the image file. Its ending is the format.
    """
    _require_format(path)
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    clients, classes = counts.shape
    figure = Figure(figsize=(min(16, 3 + 0.25 * clients), min(10, 2 + 0.28 * classes)), layout="constrained")
    axes = figure.add_subplot(title=title, xlabel="client", ylabel="class")
    if counts.size <= _MOST_DOTS:
        client, label = np.nonzero(counts)
        axes.scatter(client, label, s=150 * counts[client, label] / counts.max(), color="tab:blue")
        axes.set(xlim=(-0.7, clients - 0.3), ylim=(-0.7, classes - 0.3))
        axes.grid(alpha=0.3)
    else:
        # A square root keeps the small clients of a skewed partition visible.
        norm = PowerNorm(0.5, vmin=0, vmax=counts.max())
        image = axes.imshow(counts.T, norm=norm, aspect="auto", origin="lower", cmap="Blues", interpolation="nearest")
        figure.colorbar(image, label="rows")
    for axis, length in ((axes.xaxis, clients), (axes.yaxis, classes)):
        axis.set_major_locator(MaxNLocator(nbins=min(length, 20), integer=True))
    save(figure, path)


def draw_curves(curves: list[tuple[str, list, list]], title: str, path: Path) -> None:
    """Draws lines over rounds.

    Args:
        curves: label, rounds and values of each line. A missing value is None.
        title: the name of the values.
        path: the image file. Its ending is the format.
    """
    _require_format(path)
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot(xlabel="round", ylabel=title)
    for label, rounds, values in curves:
        axes.plot(rounds, np.array(values, float), label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize="small")
    save(figure, path)


def draw_line(x: list, mean: np.ndarray, deviation: np.ndarray, labels: tuple[str, str], path: Path) -> None:
    """Draws a value over x, with a band of one standard deviation.

    Args:
        x: numbers or names, [points].
        mean, deviation: mean and standard deviation of the value, [points].
        labels: the names of x and of the value.
        path: the image file. Its ending is the format.
    """
    _require_format(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel=labels[0], ylabel=labels[1])
    axes.plot(x, mean, marker="o")
    axes.fill_between(x, mean - deviation, mean + deviation, alpha=0.2)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)


def draw_heat_map(x: list, y: list, values: np.ndarray, labels: tuple[str, str, str], path: Path) -> None:
    """Draws a value over x and y, with each number in its cell.

    Args:
        x, y: numbers or names, [columns] and [rows].
        values: the value in each cell, [rows, columns].
        labels: the names of x, of y and of the value.
        path: the image file. Its ending is the format.
    """
    _require_format(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.5 + 0.8 * len(x), 1.8 + 0.5 * len(y)), layout="constrained")
    axes = figure.add_subplot(xlabel=labels[0], ylabel=labels[1])
    image = axes.imshow(values, aspect="auto", origin="lower", cmap="viridis")
    axes.set_xticks(range(len(x)), map(str, x))
    axes.set_yticks(range(len(y)), map(str, y))
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (row, column), value in np.ndenumerate(values):
        colour = "black" if value > middle else "white"
        axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=colour, fontsize="small")
    figure.colorbar(image, label=labels[2])
    save(figure, path)


def _require_format(path: Path) -> None:
    require(path.suffix in FORMATS, f"cannot draw {path.name!r}: the file must end in one of {', '.join(FORMATS)}")


def save(figure, path: Path) -> None:
    """Writes a figure in the format of the file's ending."""
    content = io.BytesIO()
    figure.savefig(content, dpi=150, format=path.suffix.removeprefix("."))
    files.write_bytes(path, content.getvalue())
