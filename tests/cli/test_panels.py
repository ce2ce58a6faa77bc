"""The picture of a sweep: what is drawn, and that no label is cut off."""

from pathlib import Path

import pytest

from fedcos_jax.cli import charts, panels
from fedcos_jax.engine.sweep import grid
from fedcos_jax.runs.result import SUMMARY
from fedcos_jax.runs.sweeps import Spread, Summary

METHODS = ["FedAvg", "SCAFFOLD", "FedAdam(0.01,b2=0.999)+FedCos(0.05)"]


@pytest.fixture
def draw(monkeypatch):
    """(axes, seeds, rounds of the first point) -> the figure. The points have the values 50, 51, 52, ..."""
    drawn = []
    monkeypatch.setattr(charts, "save", lambda figure, path: drawn.append(figure))

    def draw(axes, seeds=1, first=10):
        points = [
            Summary(
                point, seeds, 10 if i else first, dict.fromkeys(SUMMARY, Spread(50.0 + i, 2.0 if seeds > 1 else None))
            )
            for i, point in enumerate(grid(**axes))
        ]
        panels.draw_sweep(axes, points, 10, Path("sweep.png"))
        figure = drawn.pop()
        figure.draw_without_rendering()
        return figure

    return draw


@pytest.mark.parametrize(
    "axes",
    [
        {"lr": [0.01, 0.1]},
        {"method": METHODS},
        {"method": METHODS, "lr": [0.1, 0.2]},
        {"lr": [0.1, 0.2], "method": METHODS},
        {"method": METHODS, "lr": [0.1, 0.2], "clients": [3, 5, 7, 9, 11]},
        {"lr": [0.1, 0.2], "momentum": [None, 0.5], "method": METHODS, "model": ["mlp", "cnn"]},
        {"seed": [3]},
    ],
    ids=lambda axes: "-".join(axes),
)
def test_every_label_is_within_the_picture(draw, axes):
    figure = draw(axes, seeds=3)
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0) >= 0
    assert box.x1 <= width
    assert box.y1 <= height


@pytest.mark.parametrize("axes", [{"method": METHODS}, {"method": METHODS, "lr": [0.1, 0.2]}], ids=["bars", "map"])
def test_long_labels_are_turned(draw, axes):
    """Turned labels are parallel. The distance between their lines is more than the height of their letters."""
    assert {label.get_rotation() for label in draw(axes).axes[0].get_xticklabels()} == {40.0}
    assert "+FedCos" in draw(axes).axes[0].get_xticklabels()[2].get_text().splitlines()[1]


def test_a_line_has_a_band_over_numbers_in_order(draw):
    axes = draw({"lr": [0.1, 0.01]}, seeds=2).axes[0]
    assert axes.lines[0].get_xdata().tolist() == [0.01, 0.1]
    assert axes.lines[0].get_ydata().tolist() == [51.0, 50.0]
    assert len(axes.collections) == 1
    assert not draw({"lr": [0.1, 0.01]}).axes[0].collections
    assert axes.get_ylabel() == "test accuracy (%),\nlast round,\nmean of 2 seeds ± std"


def test_cells_have_mean_and_spread_and_say_where_they_stopped(draw):
    axes = {"lr": [0.1, 0.2], "momentum": [None, 0.5]}
    assert [text.get_text() for text in draw(axes).axes[0].texts] == ["50.0", "52.0", "51.0", "53.0"]
    stopped = [text.get_text() for text in draw(axes, seeds=2, first=4).axes[0].texts]
    assert stopped == ["50.0\n±2.0 at 4", "52.0\n±2.0", "51.0\n±2.0", "53.0\n±2.0"]
    assert draw({"lr": [0.1, 0.2]}, first=4).axes[0].get_legend() is not None


def test_further_axes_are_panels(draw):
    axes = {
        "lr": [0.1, 0.2],
        "momentum": [None, 0.5],
        "clients": [3, 5],
        "partition": ["iid", "sorted"],
        "rounds": [10],
    }
    figure = draw(axes)
    *cells, _bar = figure.axes
    assert [panel.get_title() for panel in cells] == [
        "clients 3, partition iid",
        "clients 5, partition iid",
        "clients 3, partition sorted",
        "clients 5, partition sorted",
    ]
    shown = {text.get_text() for panel in cells for text in panel.texts}
    assert shown == {f"{50 + i}.0" for i in range(16)}, "every point must be shown, and none averaged"
    assert figure.get_suptitle() == "rounds 10"
    assert len({panel.images[0].get_clim() for panel in cells}) == 1


def test_a_large_map_has_no_numbers_but_can_be_drawn(draw):
    figure = draw({"lr": [i / 100 for i in range(100)], "cos_strength": [i / 100 for i in range(40)]})
    assert not figure.axes[0].texts
    assert max(figure.get_size_inches()) < 100


def test_what_is_shown():
    assert panels.shown_axes({"lr": [1], "method": ["A", "B"], "seed": [0, 1]}) == ["method"]
    assert panels.shown_axes({"lr": [1], "seed": [0, 1]}) == ["seed"]
    assert panels.shown_axes({"lr": [1], "seed": [0]}) == ["lr"]
