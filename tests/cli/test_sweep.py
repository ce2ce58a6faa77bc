"""`fedcos sweep` as a user meets it."""

import csv
import json

import pytest

from fedcos_jax.cli.main import main

SHORT = ["--rounds", "2", "--local-steps", "2", "--clients", "3", "--quiet"]


def rows(folder):
    with (folder / "sweep.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_a_table_a_picture_and_resuming(tmp_path, capsys):
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

    capsys.readouterr()
    assert main([*first[:2], "cos_strength=0,0.05,0.1", *first[3:]]) == 0
    assert rows(folder)[:4] == table
    out = capsys.readouterr().out
    assert "2 runs in 1 program\n" in out
    assert "6 runs, 2 of them now" in out

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
        (["--grid", "devices=1,2"], "devices cannot be swept: results do not depend on it"),
        (["--grid", "foo=1"], "unknown axis 'foo' of the grid"),
        (["--grid", "mometum=1"], "did you mean 'momentum'?"),
        (["--grid", "clients=3,5"], "clients is given twice: by --grid and by --clients"),
        (["--grid", "batch_size=8,0"], "batch size must be at least 1"),
        (["--grid", "model=mlp,cnn"], "the model cnn needs images of at least 16x16"),
        (["--grid", "local_epochs=1,2"], "give --local-steps or local epochs, not both"),
        (["--grid", "lr=0.1,0.2", "--halving", "3"], "halving by 3 needs at least 3 points, and there are 2"),
        (["--grid", "lr=0.1,0.2", "--halving", "1"], "R at least 2"),
        (["--grid", "lr=0.1,0.2", "--halving", "2", "--eval-every", "2"], "needs an evaluation before the last round"),
        (["--grid", "eval_every=1,2", "--halving", "2"], "eval_every cannot be an axis"),
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


def test_client_counts_are_a_program_each_with_the_numbers_of_single_runs(tmp_path, capsys):
    short = ["--rounds", "2", "--local-steps", "2", "--quiet"]
    grid = ["--grid", "clients=3,5", "--grid", "method=FedAvg,SCAFFOLD", "--seeds", "2"]
    assert main(["sweep", *grid, *short, "--out", str(tmp_path)]) == 0
    assert "8 runs in 4 programs" in capsys.readouterr().out
    table = rows(tmp_path)
    assert [row["clients"] for row in table] == ["3"] * 4 + ["5"] * 4
    single = tmp_path / "single.json"
    assert main(["run", "--clients", "5", "--method", "SCAFFOLD", "--seed", "1", "--out", str(single), *short]) == 0
    assert json.loads(single.read_text())["last_accuracy"] == pytest.approx(float(table[-1]["last_accuracy"]), abs=0.3)
    with (tmp_path / "summary.csv").open() as stream:
        points = list(csv.DictReader(stream))
    assert [(point["clients"], point["method"], point["seeds"]) for point in points][-1] == ("5", "SCAFFOLD", "2")
    last = [float(row["last_accuracy"]) for row in table[-2:]]
    assert float(points[-1]["last_accuracy_mean"]) == pytest.approx(sum(last) / 2, abs=1e-3)
    assert float(points[-1]["last_accuracy_std"]) == pytest.approx(abs(last[0] - last[1]) / 2**0.5, abs=1e-3)


def test_halving_stops_points_and_can_be_resumed(tmp_path, capsys):
    def accuracies(folder):
        whole = json.loads((folder / "sweep.json").read_text())
        return {(row["lr"], row["seed"]): row["history"]["accuracy"] for row in whole["points"]}, whole

    grid = ["--grid", "lr=0.001,0.02,0.05,0.1", "--seeds", "2"]
    short = ["--rounds", "4", *SHORT[2:]]
    assert main(["sweep", *grid, *short, "--out", str(tmp_path / "whole")]) == 0
    everything, _ = accuracies(tmp_path / "whole")
    capsys.readouterr()

    halved = tmp_path / "halved"
    command = ["sweep", *grid, *short, "--halving", "2", "--out", str(halved)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "round 1: the best 2 of 4 points go on" in out
    assert "round 2: the best 1 of 2 points go on" in out
    found, whole = accuracies(halved)
    assert [len(history) for history in found.values()].count(1) == 4
    assert [len(history) for history in found.values()].count(4) == 2
    for key, history in found.items():
        assert history == everything[key][: len(history)]
    assert whole["halving"]["rungs"][0] == {"rounds": 1, "points": 4, "kept": 2}

    assert main(command) == 0
    assert "8 runs, 0 of them now" in capsys.readouterr().out
    cut = [row | {"history": {k: v[:1] for k, v in row["history"].items()}} for row in whole["points"]]
    for row in cut:
        del row["completed"]
    (halved / "sweep.json").write_text(json.dumps(whole | {"points": cut}))
    assert main(command) == 0, "as if it had been killed after the first rung"
    assert accuracies(halved)[0] == found
    assert "8 runs, 4 of them now" in capsys.readouterr().out

    assert main([*command[:-4], "--out", str(halved)]) == 0
    assert accuracies(halved)[0] == everything


def test_more_axes_than_a_picture_has(tmp_path, capsys):
    several = ["lr=0.1,0.2", "momentum=0,0.5", "cos_strength=0,0.1", "partition=iid,sorted", "epsilon=0,0.1"]
    grid = [part for axis in several for part in ("--grid", axis)]
    assert main(["sweep", *grid, "--out", str(tmp_path), "--rounds", "1", "--local-steps", "1", "--clients", "2"]) == 0
    out = capsys.readouterr().out
    assert "no picture: it shows at most 4 axes with several values, and there are 5 (lr, momentum," in out
    assert "and 12 more in summary.csv" in out
    assert not (tmp_path / "sweep.png").exists()
    assert len(rows(tmp_path)) == 32


def test_the_help_lists_only_what_a_sweep_takes(capsys):
    with pytest.raises(SystemExit):
        main(["sweep", "--help"])
    text = capsys.readouterr().out
    for name in ("--checkpoint-dir", "--log-dir", "--target-accuracy", "--stop-on-divergence", "--tensorboard"):
        assert name not in text
    assert "folder of the tables" in text
