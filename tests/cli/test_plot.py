"""`fedcos plot`: labels, curves and mistakes."""

import json

import numpy as np
import pytest

from fedcos_jax.cli import charts
from fedcos_jax.cli import main as command
from fedcos_jax.cli.plot import Run, axis_title, curve, groups, labels, mean_curve

HISTORY = {"round": [2, 4], "accuracy": [50.0, 60.0], "test_loss": [1, 2], "cosine_pair": [None, 0.1, 0.2, 0.3]}


def lines(*configs):
    return groups([Run(name, config, HISTORY) for name, config in zip(("one", "two", "three"), configs, strict=False)])


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ([{"method": "FedAvg", "seed": 0}, {"method": "FedCos(0.1)", "seed": 0}], ["FedAvg", "FedCos(0.1)"]),
        ([{"lr": 0.1, "method": "A"}, {"lr": 0.2, "method": "B"}], ["A, lr 0.1", "B, lr 0.2"]),
        ([{"local_steps": 5}, {"local_steps": 6, "chunk": 2}], ["local steps 5", "local steps 6"]),
        ([{"local_steps": 50}, {"lr": 0.3}], ["lr 0.05", "lr 0.3"]),
        ([{"seed": 0}, {"seed": 0}], ["one", "two"]),
        ([{"seed": 0}, {"seed": 0}, {"seed": 1}], ["seed 0 (one)", "seed 0 (two)", "seed 1"]),
        ([{"seed": 0}], ["one"]),
        ([{"seed": 0, "lr": 0.1}, {"seed": 1, "lr": 0.1}, {"seed": 0, "lr": 0.2}], ["lr 0.1", "lr 0.2"]),
        ([{"seed": 0, "method": "A"}, {"seed": 1, "method": "A", "devices": 2}], ["A"]),
    ],
)
def test_labels_show_what_differs(configs, expected):
    assert labels(lines(*configs)) == expected


def test_seeds_become_their_mean_over_the_rounds_that_all_have():
    shorter = {"round": [2], "accuracy": [70.0]}
    runs = [Run("a", {"seed": 0}, HISTORY), Run("b", {"seed": 1}, shorter)]
    (line,) = groups(runs)
    drawn = mean_curve("A", line, "accuracy")
    assert (drawn.label, drawn.rounds, drawn.mean.tolist()) == ("A (n = 2)", [2], [60.0])
    assert drawn.deviation.tolist() == pytest.approx([200**0.5])
    assert mean_curve("A", runs[:1], "accuracy").deviation is None


def test_names_of_columns():
    assert axis_title("accuracy") == "test accuracy (%)"
    assert axis_title("test_loss") == "test loss"
    assert axis_title("cosine_mean") == "cosine mean"


def test_a_sweep_beside_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = ["--rounds", "2", "--local-steps", "2", "--clients", "3", "--quiet"]
    assert command.main(["run", "--method", "FedAvg", "--out", "a.json", *short]) == 0
    assert command.main(["sweep", "--grid", "cos_strength=0.1,0.2", "--seeds", "2", "--out", "s", *short]) == 0
    drawn = []
    monkeypatch.setattr(charts, "draw_curves", lambda curves, title, path: drawn.append((curves, title, path)))
    assert command.main(["plot", "a.json", "s/sweep.json"]) == 0
    assert command.main(["plot", "s/sweep.json", "--every-seed", "--value", "train_loss"]) == 0
    curves, title, _ = drawn[0]
    assert [curve.label for curve in curves] == ["FedAvg", "FedCos(0.1) (n = 2)", "FedCos(0.2) (n = 2)"]
    assert title == "test accuracy (%)"
    points = json.loads((tmp_path / "s" / "sweep.json").read_text())["points"]
    both = np.array([point["history"]["accuracy"] for point in points[:2]])
    np.testing.assert_allclose(curves[1].mean, both.mean(0))
    np.testing.assert_allclose(curves[1].deviation, both.std(0, ddof=1))
    assert [curve.label for curve in drawn[1][0]] == [
        f"FedCos({strength}), seed {seed}" for strength in (0.1, 0.2) for seed in (0, 1)
    ]


def test_columns_lie_over_their_rounds():
    assert curve(HISTORY, "accuracy") == ([2, 4], [50.0, 60.0])
    assert curve(HISTORY, "cosine_pair") == ([1, 2, 3, 4], [None, 0.1, 0.2, 0.3])


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, method in (("a", "FedAvg"), ("b", "FedCos(0.02)")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"config": {"method": method}, "history": HISTORY}))
    return ["a.json", "b.json"]


def test_pictures_are_written_where_asked(runs, tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(charts, "save", lambda figure, path: drawn.setdefault(str(path), figure))
    assert command.main(["plot", *runs]) == 0
    assert command.main(["plot", *runs, "--value", "cosine_pair", "--out", "deep/c.svg"]) == 0
    assert list(drawn) == ["accuracy.png", "deep/c.svg"]
    (axes,) = drawn["accuracy.png"].axes
    assert {line.get_label(): line.get_ydata().tolist() for line in axes.lines} == {
        "FedAvg": [50.0, 60.0],
        "FedCos(0.02)": [50.0, 60.0],
    }


def test_a_picture_on_disk(runs, tmp_path):
    assert command.main(["plot", *runs, "--out", "new/c.svg"]) == 0
    assert (tmp_path / "new" / "c.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json", "--value", "acuracy"], "unknown column of a.json: 'acuracy'; did you mean 'accuracy'?"),
        (["none.json"], "cannot read the result none.json"),
        (["binary.json"], "cannot read the result binary.json"),
        (["part.json"], "part.json is not a result of `fedcos run --out`"),
        (["list.json"], "list.json is not a result of `fedcos run --out`"),
        (["a.json", "--out", "a.txt"], "must end in one of .png, .pdf, .svg"),
        (["a.json", "--out", "a.json/c.png"], "cannot write"),
    ],
)
def test_mistakes_get_one_line(runs, tmp_path, capsys, arguments, message):
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "part.json").write_text('{"config": {}, "history": {"accuracy": [1]}}')
    (tmp_path / "binary.json").write_bytes(b"\x89PNG")
    before = sorted(tmp_path.iterdir())
    assert command.main(["plot", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
