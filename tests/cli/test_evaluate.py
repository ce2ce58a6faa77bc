"""`fedcos run --save`, `--from` and `fedcos evaluate` as a user meets them."""

import json
import shutil
import tomllib
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

import fedcos_jax as fc
from fedcos_jax.cli.evaluate import table_lines
from fedcos_jax.cli.main import main
from fedcos_jax.models import checksum
from fedcos_jax.runs import parameters

SHORT = ["run", "--quiet", "--rounds", "2", "--local-steps", "5", "--clients", "4", "--method", "FedAvg"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with its model, its result and its checkpoints."""
    folder = tmp_path_factory.mktemp("run")
    places = ["--save", f"{folder}/model.safetensors", "--out", f"{folder}/run.json", "--checkpoint-dir"]
    assert main([*SHORT, *places, f"{folder}/kept"]) == 0
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return f"{folder}/model.safetensors"


def refused(capsys, *arguments):
    """The one line that answers a mistake."""
    capsys.readouterr()
    assert main(list(arguments)) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    return error


def test_the_file_is_the_model_of_the_run(folder, model):
    result = json.loads((folder / "run.json").read_text())
    about = parameters.read(folder / "model.safetensors").about
    assert about["rounds"] == 2
    assert about["last_accuracy"] == result["last_accuracy"]
    assert about["config"].items() <= result["config"].items()
    dataset = fc.load("digits")
    experiment = fc.Experiment(
        method=fc.fedavg(),
        optimizer=fc.client_sgd(0.05),
        data=fc.federate(dataset, fc.partition.build("sorted", dataset.train.y, clients=4, seed=0)),
        model=fc.models.build("mlp", dataset.input_shape, dataset.classes),
        schedule=fc.Schedule(rounds=2, local_steps=5, batch_size=32),
    )
    state, _ = fc.run(jax.random.key(0), experiment)
    np.testing.assert_array_equal(fc.load_params(model)["Dense_0"]["kernel"], state.params["Dense_0"]["kernel"])


def test_equal_runs_write_equal_files_also_from_their_checkpoints(folder, model, tmp_path):
    shutil.copytree(folder / "kept", tmp_path / "kept")
    for name, places in (("again", []), ("resumed", ["--checkpoint-dir", f"{tmp_path}/kept"])):
        assert main([*SHORT, *places, "--save", f"{tmp_path}/{name}.safetensors"]) == 0
        assert (tmp_path / f"{name}.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def test_evaluating_gives_what_the_run_recorded(folder, model, tmp_path, capsys):
    out = tmp_path / "scores.json"
    assert main(["evaluate", model, "--per-client", "--confusion", "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    scores, result = (json.loads(path.read_text()) for path in (out, folder / "run.json"))
    assert scores["accuracy"] == pytest.approx(result["last_accuracy"], abs=1e-3)
    assert scores["loss"] == result["history"]["test_loss"][-1]
    table = np.array(scores["confusion"])
    assert 100 * table.trace() / table.sum() == pytest.approx(scores["accuracy"], abs=1e-3)
    by_client = scores["per_client"]
    assert len(by_client["accuracy"]) == 4
    assert by_client["mean"] == pytest.approx(np.mean(by_client["accuracy"]), abs=1e-3)
    assert by_client["worst_decile"] == pytest.approx(np.percentile(by_client["accuracy"], 10), abs=1e-3)
    assert f"accuracy {scores['accuracy']:.2f}%" in printed[0]
    assert f"4 clients (sorted): mean {by_client['mean']:.2f}%" in printed[1]
    assert len({len(line) for line in printed[3:]}) == 1
    assert [int(word) for word in printed[-1].replace(".", "0").split("|")[1].split()[:10]] == table[-1].tolist()


def test_a_folder_of_checkpoints_is_evaluated_too(folder, model, capsys):
    lines = []
    for path in (model, f"{folder}/kept"):
        assert main(["evaluate", path, "--devices", "1"]) == 0
        lines.append(capsys.readouterr().out.split(" on digits ")[1])
    assert lines[0] == lines[1]


def test_what_the_file_does_not_say_is_given(model, tmp_path, capsys):
    bare = str(tmp_path / "bare.safetensors")
    safetensors.numpy.save_file(safetensors.numpy.load_file(model), bare)
    assert "does not say what its parameters are: give --dataset and --model" in refused(capsys, "evaluate", bare)
    assert main(["evaluate", bare, "--dataset", "digits", "--model", "mlp", "--per-client", "--clients", "3"]) == 0
    assert "3 clients (sorted)" in capsys.readouterr().out
    assert main(["evaluate", model, "--per-client", "--partition", "iid", "--clients", "9"]) == 0
    assert "9 clients (iid)" in capsys.readouterr().out


def test_a_hostile_config_is_one_line(model, tmp_path, capsys):
    path = tmp_path / "hostile.safetensors"
    arrays = safetensors.numpy.load_file(model)
    for config in ({"dataset": ["x"], "model": "mlp"}, {"dataset": "digits", "model": {}}, [1]):
        safetensors.numpy.save_file(arrays, path, {parameters.KEY: json.dumps({"config": config})})
        refused(capsys, "evaluate", str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "nowhere"], "cannot read nowhere"),
        (["evaluate", "MODEL", "--model", "cnn", "--dataset", "digits(16)"], "MODEL cannot be used for this model"),
        (["evaluate", "MODEL", "--clients", "few"], "clients must be a whole number, got 'few'"),
        ([*SHORT, "--save", "model.pt"], "so model.pt needs a name like model.safetensors"),
        ([*SHORT, "--from", "nowhere.safetensors"], "cannot read nowhere.safetensors"),
        ([*SHORT, "--from", "MODEL", "--replay", "111"], "give one of them"),
        ([*SHORT, "--from", "MODEL", "--save", "MODEL"], "would write over the parameters that the run starts from"),
        ([*SHORT, "--start-checksum", "0"], "start_checksum needs start_from"),
        ([*SHORT, "--from", "MODEL", "--dataset", "digits(16)"], "Dense_0.kernel has the shape [64, 200]"),
        (["sweep", "--grid", "lr=0.1", "--save", "model.safetensors"], "a sweep takes no --save"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(model, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    error = refused(capsys, *[model if word == "MODEL" else word for word in arguments], "--out", "scores.json")
    assert message.replace("MODEL", model) in error
    assert not list(tmp_path.iterdir())


def test_a_run_starts_from_a_file_and_its_config_knows_which(folder, model, tmp_path, capsys):
    further = [*SHORT, "--seed", "5", "--from", model, "--out", f"{tmp_path}/a.json"]
    assert main([*further, "--checkpoint-dir", f"{tmp_path}/kept"]) == 0
    first, before = (json.loads(path.read_text()) for path in (tmp_path / "a.json", folder / "run.json"))
    assert first["history"]["train_loss"][0] < before["history"]["train_loss"][0]
    config = tomllib.loads((tmp_path / "a.toml").read_text())
    assert config["start_from"] == model
    assert config["start_checksum"] == first["config"]["start_checksum"] == checksum(fc.load_params(model))
    assert main(["run", "--quiet", "--config", f"{tmp_path}/a.toml", "--out", f"{tmp_path}/b.json"]) == 0
    assert json.loads((tmp_path / "b.json").read_text())["history"] == first["history"]

    other = f"{tmp_path}/other.safetensors"
    assert main(["run", "--quiet", "--config", f"{tmp_path}/a.toml", "--save", other]) == 0
    kept = ["--checkpoint-dir", f"{tmp_path}/kept"]
    assert "holds another run, with start_checksum" in refused(capsys, *SHORT, "--seed", "5", "--from", other, *kept)
    assert "holds another run, with start_checksum" in refused(capsys, *SHORT, "--seed", "5", *kept)
    assert main(["run", "--quiet", "--config", f"{tmp_path}/a.toml", "--from", other, "--rounds", "1"]) == 0
    text = (tmp_path / "a.toml").read_text().replace(model, other)
    (tmp_path / "a.toml").write_text(text)
    error = refused(capsys, "run", "--config", f"{tmp_path}/a.toml")
    assert f"{other} does not hold the parameters that the config names by its start_checksum" in error


def test_a_sweep_starts_from_a_file(model, tmp_path, capsys):
    sweep = ["sweep", "--grid", "lr=0,0.05", "--quiet", "--rounds", "1", "--local-steps", "2", "--clients", "4"]
    assert main([*sweep, "--from", model, "--out", str(tmp_path)]) == 0
    whole = json.loads((tmp_path / "sweep.json").read_text())
    last = parameters.read(Path(model)).about["last_accuracy"]
    assert whole["points"][0]["last_accuracy"] == pytest.approx(last, abs=1e-3)
    assert "is a sweep of another config" in refused(capsys, *sweep, "--out", str(tmp_path))


def test_a_large_table_is_shown_by_its_mistakes():
    table = 5 * np.eye(30, dtype=int)
    table[3, 7], table[4, 8] = 9, 2
    head, *lines = table_lines(table)
    assert "among 30 classes" in head
    assert [" ".join(line.split()) for line in lines] == [
        "9 of 14 rows of class 3 are taken for class 7",
        "2 of 7 rows of class 4 are taken for class 8",
    ]
