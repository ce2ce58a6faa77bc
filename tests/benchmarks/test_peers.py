"""The job that is given to this library and to its peers."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import __main__ as driver
from benchmarks.peers import job as jobs
from benchmarks.peers import ours, worker


@pytest.fixture
def small_job(monkeypatch):
    job = jobs.Job("mlp", 2, 3)
    monkeypatch.setitem(jobs.JOBS, job.name, job)
    monkeypatch.setattr(ours, "REPEATS", 1)
    return job


def test_data_is_shared_out_evenly_and_is_the_same_for_everybody(small_job):
    first, again = jobs.make_data(small_job), jobs.make_data(small_job)
    assert first.x.shape == (2 * jobs.ROWS, 28, 28)
    assert jobs.ROWS == jobs.BATCH * jobs.STEPS
    for ours_, theirs in zip(first, again, strict=True):
        np.testing.assert_array_equal(ours_, theirs)


def test_our_side_learns_from_the_given_weights(small_job, tmp_path):
    data, start = jobs.make_data(small_job), jobs.initial_weights(small_job)
    for name, array in data._asdict().items():
        np.save(tmp_path / f"{name}.npy", array)
    worker.main("ours", small_job.name, tmp_path)
    weights = dict(np.load(tmp_path / "ours.npz"))
    assert {name: array.shape for name, array in weights.items()} == {n: a.shape for n, a in start.items()}
    assert ours.accuracy(small_job, data, weights) > ours.accuracy(small_job, data, start) + 5
    outcome = json.loads((tmp_path / "ours.json").read_text())
    assert outcome["first_seconds"] > outcome["round_seconds"][0] > 0


def test_weights_go_to_pytorch_and_back():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")
    from benchmarks.peers import in_torch

    job = jobs.Job("cnn", 1, 1)
    data, weights = jobs.make_data(job), jobs.initial_weights(job)
    model = in_torch.build(job, weights)
    back = in_torch.weights_of(list(model.parameters()), weights)
    for name, array in weights.items():
        np.testing.assert_array_equal(back[name], array)
    test = jobs.scaled(data.test_x).transpose(0, 3, 1, 2)
    with torch.no_grad():
        right = model(torch.from_numpy(test)).argmax(-1).numpy() == data.test_y
    assert 100 * right.mean() == pytest.approx(ours.accuracy(job, data, weights), abs=0.1)


def test_a_library_that_cannot_run_says_why(small_job, tmp_path):
    data = jobs.make_data(small_job)
    missing = driver.measure("torch", Path("nowhere/python"), small_job, data, tmp_path)
    assert "nowhere/python" in missing["error"]
    absent = driver.measure("flower", Path(sys.executable), small_job, data, tmp_path)
    assert driver.cells(absent)[2] == "did not run"
    assert len(driver.cells(absent)) == len(driver.cells(missing)) == len(driver.HEADINGS)


def test_moves_are_compared_from_the_initial_weights(small_job):
    start = jobs.initial_weights(small_job)
    once, twice = ({name: array + step for name, array in start.items()} for step in (1, 2))
    assert driver.moves(small_job, twice, once) == pytest.approx({"cosine": 1, "length": 2}, rel=1e-4)


def test_ratios_and_agreement():
    rows = [
        {"library": "ours", "round_seconds": 0.5, "cosine": 1.0, "length": 1.0},
        {"library": "torch", "round_seconds": 1.0, "cosine": 0.95, "length": 1.02},
        {"library": "pfl", "round_seconds": 2.0, "cosine": 0.95, "length": 0.5},
        {"library": "flower", "error": "no"},
    ]
    driver.add_ratios(rows)
    assert [row.get("our_rounds_in_one") for row in rows] == [1, 2, 4, None]
    assert [row.get("same_work") for row in rows] == [True, True, False, None]
