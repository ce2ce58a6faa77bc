"""Tables of a sweep: means and deviations over seeds, the best point, and what is stored."""

import math

import numpy as np
import pytest

from fedcos_jax.errors import InputError
from fedcos_jax.runs import files, sweeps
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import SUMMARY

VALUES = {0.1: [80.0, 90.0, 85.0], 0.2: [99.0, 60.0, 70.0]}


def row(lr, seed, last, completed=4):
    history = {"round": [2, completed], "accuracy": [last - 5, last]}
    return {"lr": lr, "seed": seed, "completed": completed} | dict.fromkeys(SUMMARY, last) | {"history": history}


ROWS = [row(lr, seed, last) for lr, values in VALUES.items() for seed, last in enumerate(values)]


def test_a_point_is_the_mean_and_the_sample_deviation_over_seeds():
    first, second = sweeps.summarise(ROWS, ["lr", "seed"])
    assert (first.point, first.seeds, first.rounds) == ({"lr": 0.1}, 3, 4)
    for point, values in ((first, VALUES[0.1]), (second, VALUES[0.2])):
        for spread in point.values.values():
            assert spread == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    assert str(first.values["last_accuracy"]) == "85.00 ± 5.00"
    assert str(sweeps.spread([3.14159])) == "3.14"
    assert len(sweeps.summarise(ROWS, ["lr", "seed"], seeds=None)) == 6


def test_the_best_is_a_mean_and_not_a_lucky_seed():
    points = sweeps.summarise(ROWS, ["lr", "seed"])
    assert [point.point["lr"] for point in sweeps.ranked(points, 4)] == [0.1, 0.2]
    stopped = sweeps.summarise([*ROWS, row(0.3, 0, 99.0, 3)], ["lr", "seed"])
    assert [point.point["lr"] for point in sweeps.ranked(stopped, 4)] == [0.1, 0.2, 0.3]


def test_rounds_can_be_an_axis():
    rows = [row(0.1, 0, 90.0, 3) | {"rounds": 3}, row(0.1, 0, 80.0, 4) | {"rounds": 4}]
    points = sweeps.summarise(rows, ["lr", "rounds", "seed"])
    assert [point.missing(4) for point in points] == [0, 0]
    assert sweeps.ranked(points, 4)[0].rounds == 3


def test_scores_on_the_way():
    assert sweeps.score_at(ROWS[0], 2) == 75.0
    assert math.isnan(sweeps.score_at({"history": {"round": [2], "accuracy": [None]}}, 2))


def test_what_is_written_is_read(tmp_path):
    config, axes = Config(), ["lr", "seed"]
    sweeps.write(tmp_path, config, axes, ROWS, {"reduction": 3, "rungs": []})
    assert (tmp_path / "summary.csv").read_text().splitlines()[:2] == [
        "lr,seeds,completed," + ",".join(f"{name}_{part}" for name in SUMMARY for part in ("mean", "std")),
        "0.1,3,4,85.0,5.0,85.0,5.0,85.0,5.0",
    ]
    kept = sweeps.read_rows(tmp_path, config, axes, again=False)
    assert list(kept.values()) == ROWS
    assert next(iter(kept)) == (0.1, 0)
    with pytest.raises(InputError, match="another config or other axes"):
        sweeps.read_rows(tmp_path, config, ["momentum", "seed"], again=False)
    older = files.read(tmp_path / "sweep.json")
    del older["config"]["per_client"]
    files.write(tmp_path / "sweep.json", older)
    assert list(sweeps.read_rows(tmp_path, config, axes, again=False).values()) == ROWS
    assert sweeps.read_rows(tmp_path / "new", config, axes, again=False) == {}


def test_rows_of_older_sweeps_get_their_rounds(tmp_path):
    old = [{name: value for name, value in one.items() if name != "completed"} for one in ROWS]
    sweeps.write(tmp_path, Config(), ["lr", "seed"], ROWS, None)
    whole = files.read(tmp_path / "sweep.json")
    files.write(tmp_path / "sweep.json", whole | {"points": old})
    kept = sweeps.read_rows(tmp_path, Config(), ["lr", "seed"], again=False)
    assert [one["completed"] for one in kept.values()] == [4] * 6
