"""Pictures are written in the format of their ending, from the right numbers."""

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


@pytest.mark.parametrize("x", [[0.1, 0.2], ["None", "0.5"]])
def test_a_line_over_numbers_or_names(tmp_path, x):
    charts.draw_line(x, np.array([1.0, 2.0]), np.array([0.1, 0.1]), ("lr", "accuracy"), tmp_path / "line.svg")
    assert (tmp_path / "line.svg").read_text().startswith("<?xml")


def test_a_heat_map_has_its_numbers(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(charts, "save", lambda figure, path: drawn.append(figure))
    charts.draw_heat_map([1, 2], ["a"], np.array([[3.0, 4.5]]), ("x", "y", "accuracy"), tmp_path / "map.png")
    assert [text.get_text() for text in drawn[0].axes[0].texts] == ["3.0", "4.5"]


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in one of \.png, \.pdf, \.svg"):
        charts.draw_curves([], "accuracy", tmp_path / "picture.bmp")
