"""`fedcos sweep` as a user meets it."""

import csv
import json

import pytest

from fedcos_jax.cli import sweep
from fedcos_jax.cli.main import main

SHORT = ["--rounds", "2", "--local-steps", "2", "--clients", "3", "--quiet"]


def rows(folder):
    with (folder / "sweep.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_a_table_a_picture_and_resuming(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "out"
    first = ["sweep", "--grid", "cos_strength=0,0.05", "--seeds", "2", "--out", str(folder), *SHORT]
    assert main(first) == 0
    table = rows(folder)
    assert [(row["cos_strength"], row["seed"]) for row in table] == [
        ("0.0", "0"),
        ("0.0", "1"),
        ("0.05", "0"),
        ("0.05", "1"),
    ]
    assert (folder / "sweep.png").stat().st_size > 1000
    whole = json.loads((folder / "sweep.json").read_text())
    assert whole["config"]["rounds"] == 2
    assert len(whole["points"][0]["history"]["accuracy"]) == 2

    alone = tmp_path / "alone.json"
    assert main(["run", "--cos-strength", "0.05", "--seed", "1", "--out", str(alone), *SHORT]) == 0
    assert json.loads(alone.read_text())["last_accuracy"] == pytest.approx(float(table[3]["last_accuracy"]), abs=1e-4)

    ran = []
    real = sweep.run_together
    monkeypatch.setattr(sweep, "run_together", lambda configs, *rest: ran.extend(configs) or real(configs, *rest))
    assert main([*first[:2], "cos_strength=0,0.05,0.1", *first[3:]]) == 0
    assert [(config.method, config.seed) for config in ran] == [("FedCos(0.1)", 0), ("FedCos(0.1)", 1)]
    assert rows(folder)[:4] == table
    assert "6 runs, 2 of them now" in capsys.readouterr().out

    assert main([*first[:2], "cos_strength=0.2", *first[3:]]) == 0
    assert [row["cos_strength"] for row in rows(folder)] == ["0.0"] * 2 + ["0.05"] * 2 + ["0.1"] * 2 + ["0.2"] * 2


def test_methods_and_partitions_in_one_program(tmp_path):
    grid = ["--grid", "method=FedAvg,FedOpt(1.5)+FedCos(0.02)", "--grid", "partition=sorted,iid"]
    assert main(["sweep", *grid, "--out", str(tmp_path), "--at-once", "4", *SHORT]) == 0
    assert [(row["method"], row["partition"]) for row in rows(tmp_path)] == [
        ("FedAvg", "sorted"),
        ("FedAvg", "iid"),
        ("FedOpt(1.5)+FedCos(0.02)", "sorted"),
        ("FedOpt(1.5)+FedCos(0.02)", "iid"),
    ]


def test_points_of_several_structures_are_several_programs(tmp_path):
    grid = ["--grid", "momentum=none,0.5", "--grid", "method=FedAvg,SCAFFOLD,FedAdam(0.01,b2=0.999)"]
    assert main(["sweep", *grid, "--out", str(tmp_path), *SHORT]) == 0
    table = rows(tmp_path)
    assert len(table) == 6
    assert len({row["last_accuracy"] for row in table}) > 3


def test_every_point_has_the_cohorts_that_it_replays(tmp_path):
    """A partition with shards draws before the cohorts, so its cohorts are others."""
    shared = ["--replay", "111", "--fraction", "0.3", "--quiet", *SHORT]
    assert main(["sweep", "--grid", "partition=sorted,shards2", "--out", str(tmp_path), *shared]) == 0
    for row in rows(tmp_path):
        alone = tmp_path / f"{row['partition']}.json"
        assert main(["run", "--partition", row["partition"], "--out", str(alone), *shared]) == 0
        assert json.loads(alone.read_text())["last_accuracy"] == pytest.approx(float(row["last_accuracy"]), abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "rounds=1,2"], "rounds cannot be swept: it changes the shapes of the run"),
        (["--grid", "foo=1"], "unknown axis 'foo' of the grid"),
        (["--grid", "lr="], "--grid lr needs values"),
        (["--grid", "lr=a"], "lr must be a number, got 'a'"),
        (["--grid", "lr=1", "--grid", "lr=2"], "the axis lr is given twice"),
        (["--grid", "seed=1", "--seeds", "2"], "give --seeds or --grid seed"),
        (["--grid", "lr=0.1", "--seeds", "0"], "seeds must be at least 1"),
        (["--grid", "cos_strength=-1"], "FedCos strength must be at least 0"),
        (["--grid", "lr=0.1", "--at-once", "0"], "batch must be at least 1"),
        (["--grid", "seed =0,1", "--seeds", "2"], "give --seeds or --grid seed"),
        (["--grid", "seed=-1,0"], "seed must be at least 0"),
        (["--grid", "lr_decay=0.5,0.9"], "lr_decay is the number of lr_schedule exponential"),
        (["--grid", "lr=0.1", "--devices", "99"], "99 devices are more than"),
        (["--grid", "lr=0.1", "--checkpoint-dir", "kept"], "a sweep takes no --checkpoint-dir"),
        (["--grid", "lr=0.1", "--log-dir", "log"], "a sweep takes no --log-dir"),
        (["--grid", "lr=0.1", "--target-accuracy", "90"], "a sweep takes no --target-accuracy"),
        (["--grid", "lr=0.1", "--patience", "3"], "a sweep takes no --patience"),
        (["--grid", "lr=0.1", "--wandb", "mine"], "a sweep takes no --wandb"),
        (["--grid", "lr=0.1", "--lr", "0.2"], "lr is given twice: by --grid and by --lr"),
        (["--grid", "lr=0.1,0.10"], "--grid lr has 0.1 more than once"),
        (["--grid", "method=FedAvg,fedavg"], "--grid method has FedAvg more than once"),
        (["--grid", "method=FedCos(0.1)", "--grid", "cos_strength=0.5"], "by the method and by --grid cos_strength"),
    ],
)
def test_mistakes_get_one_line(tmp_path, capsys, arguments, message):
    assert main(["sweep", *arguments, "--out", str(tmp_path / "out"), *SHORT]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_running_again_keeps_the_other_points(tmp_path):
    sweep = ["sweep", "--out", str(tmp_path), *SHORT]
    assert main([*sweep, "--grid", "momentum=none"]) == 0
    assert main([*sweep, "--again", "--grid", "lr=0.02,0.1"]) == 0
    assert main([*sweep, "--again", "--devices", "1", "--grid", "lr=0.1"]) == 0
    assert [row["lr"] for row in rows(tmp_path)] == ["0.02", "0.1"]
    (tmp_path / "sweep.json").write_text("{")
    assert main([*sweep, "--grid", "lr=0.1"]) == 2
    assert main([*sweep, "--again", "--grid", "lr=0.1"]) == 0


def test_another_sweep_is_not_overwritten(tmp_path, capsys):
    assert main(["sweep", "--grid", "lr=0.1", "--out", str(tmp_path), *SHORT]) == 0
    capsys.readouterr()
    assert main(["sweep", "--grid", "lr=0.1", "--out", str(tmp_path), *SHORT, "--batch-size", "8"]) == 2
    assert "is a sweep of another config or other axes" in capsys.readouterr().err
