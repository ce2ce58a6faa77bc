"""Running cells: alone with checkpoints, or together in one program, with equal results."""

import functools
import json
from contextlib import contextmanager

import pytest

from experiments import reproduce
from experiments import run as runner
from experiments.declare import Profile, Setting, Table, cells
from experiments.store import stored
from fedcos_jax.runs.config import Config

ANY_METHODS = Table(
    name="any",
    title="Methods of several structures",
    methods=("FedAvg", "FedProx(0.1)", "SCAFFOLD", "FedAdam(0.01,b2=0.999)"),
    settings={"sorted": Setting("Sorted", {"partition": "sorted"}), "iid": Setting("IID", {"partition": "iid"})},
    paper={},
    profiles={
        "quick": Profile(Config(clients=4, rounds=3, local_steps=3, batch_size=5, devices=1), "3 rounds of 3 steps.")
    },
)


def run(*arguments):
    return reproduce.main([*map(str, arguments), "--quiet"])


def assert_alike(together, alone, points=2.0):
    """Two results of one config, up to sums in another order, magnified by training."""
    assert together["config"] == alone["config"]
    assert together.keys() == alone.keys()
    assert together["history"]["train_loss"][:3] == pytest.approx(alone["history"]["train_loss"][:3], rel=1e-3)
    assert together["last_accuracy"] == pytest.approx(alone["last_accuracy"], abs=points)


def test_a_table_is_one_sweep(ran, tmp_path, programs):
    arguments = ["table2", "--results-dir", tmp_path, "--methods", "FedAvg", "FedOpt(1.5)+FedCos(0.02)"]
    before = programs.count("jit(_compiled_batch)")
    assert run(*arguments, "--settings", "sorted", "iid", "--seeds", 2, "--at-once", 8) == 0
    assert programs.count("jit(_compiled_batch)") == before + 1
    paths = list((tmp_path / "quick" / "table2").iterdir())
    assert len(paths) == 8
    for path in paths:
        assert_alike(json.loads(path.read_text()), json.loads((ran / "quick" / "table2" / path.name).read_text()))


def test_any_method_is_a_row(tmp_path, programs, compiled_quickly):
    """Rows of three structures are three programs, and each row is the run that it is alone."""
    chosen = list(cells(ANY_METHODS, "quick"))
    before = programs.count("jit(_compiled_batch)")
    runner.run_cells(chosen, tmp_path / "together", None, show_progress=False, at_once=4)
    assert programs.count("jit(_compiled_batch)") == before + 3
    runner.run_cells(chosen, tmp_path / "alone", None, show_progress=False)
    for setting in ANY_METHODS.settings:
        for method in ANY_METHODS.methods:
            (together,), (alone,) = (
                stored(ANY_METHODS, "quick", tmp_path / how, setting, method) for how in ("together", "alone")
            )
            assert together["method"] == method
            assert together["rounds"] == alone["rounds"] == 3
            assert min(together["seconds"], alone["seconds"]) > 0
            assert_alike(together, alone)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys, compiled_quickly):
    arguments = ["table2", "--results-dir", tmp_path, "--methods", "FedAvg", "FedOpt(1.5)", "--settings", "iid"]
    arguments += ["--set", "rounds=1", "local_steps=1", "devices=1"]
    run_one, started = runner.execute, []

    def interrupted(prepared, callbacks, checkpoints):
        started.append(prepared.config.method)
        if len(started) == 2:
            raise KeyboardInterrupt
        return run_one(prepared, callbacks, checkpoints)

    monkeypatch.setattr(runner, "execute", interrupted)
    assert run(*arguments) == 130
    assert capsys.readouterr().err == "reproduce: interrupted\n"
    assert len(list((tmp_path / "quick" / "table2").iterdir())) == 1
    assert run(*arguments) == 0
    assert started == ["FedAvg", "FedOpt(1.5)", "FedOpt(1.5)"]


def test_a_cell_goes_on_from_its_last_checkpoint(ran, tmp_path, monkeypatch):
    arguments = ["table2", "--results-dir", tmp_path, "--methods", "FedAvg", "--settings", "iid"]
    cell, completed = tmp_path / "quick" / "table2" / "iid_fedavg_seed0.json", []

    @contextmanager
    def killed_in_round_three(label, rounds, shown):
        def advance(report):
            completed.append(report.completed)
            if len(completed) == 3:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.setattr(runner, "progress_bar", killed_in_round_three)
    monkeypatch.setattr(runner, "Checkpoints", functools.partial(runner.Checkpoints, every=0))
    assert run(*arguments) == 130
    assert cell.with_suffix(".checkpoint").is_dir()
    assert run(*arguments) == 0
    # The checkpoint holds two rounds. The bar is told of them first.
    assert completed[:6] == [1, 2, 3, 1, 2, 3]
    whole = json.loads((ran / "quick" / "table2" / cell.name).read_text())
    assert json.loads(cell.read_text())["history"] == whole["history"]
    assert not cell.with_suffix(".checkpoint").exists()
