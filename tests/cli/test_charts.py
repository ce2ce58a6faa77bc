"""Pictures are written in the format of their ending, from the right numbers."""

from pathlib import Path

import numpy as np
import pytest

from fedcos_jax.cli import charts
from fedcos_jax.cli.charts import class_counts
from fedcos_jax.data.partition import Ownership
from fedcos_jax.errors import InputError


def test_class_counts():
    ownership = Ownership.of([np.array([0, 3]), np.array([1, 2, 4])])
    counts = class_counts(np.array([0, 1, 1, 2, 0]), ownership, classes=4)
    assert counts.tolist() == [[1, 0, 1, 0], [1, 2, 0, 0]]


def test_a_band_and_a_legend_that_is_not_cut_off(monkeypatch):
    drawn = []
    monkeypatch.setattr(charts, "save", lambda figure, path: drawn.append(figure))
    mean = np.array([1.0, np.nan, 3.0])
    curves = [
        charts.Curve(f"FedAdam(0.01,b2=0.999)+FedCos(0.0{n}) and more", [1, 2, 3], mean, mean / 10) for n in range(12)
    ]
    charts.draw_curves(curves, "test accuracy (%)", Path("picture.png"))
    (figure,) = drawn
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.axes[0].get_window_extent().y0
    assert len({tuple(line.get_color()) for line in figure.axes[0].lines}) == 12
    assert len(figure.axes[0].collections) == 12


def test_one_round_is_a_dot(monkeypatch):
    drawn = []
    monkeypatch.setattr(charts, "save", lambda figure, path: drawn.append(figure))
    curves = [charts.Curve(str(n), list(range(1, n + 1)), np.arange(1.0, n + 1)) for n in (1, 2)]
    charts.draw_curves(curves, "test accuracy (%)", Path("picture.png"))
    assert [line.get_marker() for line in drawn[0].axes[0].lines] == ["o", "None"]


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in one of \.png, \.pdf, \.svg"):
        charts.draw_curves([], "accuracy", tmp_path / "picture.bmp")
