"""`fedcos plot`: labels, curves and mistakes."""

import json

import pytest

from fedcos_jax.cli import charts
from fedcos_jax.cli import main as command
from fedcos_jax.cli.plot import curve, labels

HISTORY = {"round": [2, 4], "accuracy": [50.0, 60.0], "test_loss": [1, 2], "cosine_pair": [None, 0.1, 0.2, 0.3]}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ([{"method": "FedAvg", "seed": 0}, {"method": "FedCos(0.1)", "seed": 0}], ["FedAvg", "FedCos(0.1)"]),
        ([{"lr": 0.1, "method": "A"}, {"lr": 0.2, "method": "B"}], ["A, lr 0.1", "B, lr 0.2"]),
        ([{"local_steps": 5}, {"local_steps": 5, "chunk": 2}], ["chunk None", "chunk 2"]),
        ([{"seed": 0}, {"seed": 0}], ["one", "two"]),
        ([{"seed": 0}, {"seed": 0}, {"seed": 1}], ["seed 0 (one)", "seed 0 (two)", "seed 1"]),
        ([{"seed": 0}], ["one"]),
    ],
)
def test_labels_show_what_differs(configs, expected):
    assert labels(configs, ["one", "two", "three"][: len(configs)]) == expected


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
