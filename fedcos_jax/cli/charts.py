"""Pictures that show who owns which rows, and how runs compare."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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
    require_format(path)
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


class Curve(NamedTuple):
    """A line over rounds, with a band of one standard deviation if there is one."""

    label: str
    rounds: Sequence[int]
    mean: np.ndarray
    """[rounds]. A missing value is NaN."""
    deviation: np.ndarray | None = None


def draw_curves(curves: Sequence[Curve], title: str, path: Path) -> None:
    """Draws lines over rounds. The legend of many or of long labels stands below the picture.

    Args:
        curves: the lines.
        title: the name of the values.
        path: the image file. Its ending is the format.
    """
    require_format(path)
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    longest = max((len(curve.label) for curve in curves), default=0)
    inside = len(curves) <= 8 and longest <= 40
    columns = 1 if inside else max(1, min(3, 80 // max(1, longest)))
    below = 0.0 if inside else 0.2 * math.ceil(len(curves) / columns) + 0.2
    figure = Figure(figsize=(max(7.0, 0.07 * columns * (longest + 8)), 4.2 + below), layout="constrained")
    axes = figure.add_subplot(xlabel="round", ylabel=title)
    if len(curves) > 10:
        axes.set_prop_cycle(color=colormaps["turbo"](np.linspace(0.05, 0.95, len(curves))))
    for curve in curves:
        # A line through one round is a dot.
        marker = "o" if len(curve.rounds) == 1 else None
        (line,) = axes.plot(curve.rounds, curve.mean, label=curve.label, marker=marker)
        if curve.deviation is not None:
            low, high = curve.mean - curve.deviation, curve.mean + curve.deviation
            axes.fill_between(curve.rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if inside:
        axes.legend(fontsize="small")
    else:
        figure.legend(fontsize="small", loc="outside lower center", ncols=columns)
    save(figure, path)


def require_format(path: Path) -> None:
    """Raises InputError unless the file's ending is a format."""
    require(path.suffix in FORMATS, f"cannot draw {path.name!r}: the file must end in one of {', '.join(FORMATS)}")


def save(figure, path: Path) -> None:
    """Writes a figure in the format of the file's ending."""
    content = io.BytesIO()
    figure.savefig(content, dpi=150, format=path.suffix.removeprefix("."))
    files.write_bytes(path, content.getvalue())
