"""A run of Weights & Biases in its offline mode: what is in its file is the history."""

import json
import time

import pytest

wandb = pytest.importorskip("wandb")

from wandb.proto.wandb_internal_pb2 import Record  # noqa: E402

from fedcos_jax.cli import main as fedcos  # noqa: E402
from fedcos_jax.errors import InputError  # noqa: E402
from fedcos_jax.runs import files  # noqa: E402
from fedcos_jax.runs.logs.wandb import wandb_run  # noqa: E402

ROWS = [{"round": 1, "accuracy": None, "loss": 0.5}, {"round": 2, "accuracy": 25.0, "loss": 0.25}]


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)


def records(path):
    """The records of a .wandb file: LevelDB's log format after seven bytes of W&B's own."""
    content, position, whole = path.read_bytes(), 7, b""
    while position < len(content):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        size, kind = int.from_bytes(content[position + 4 : position + 6], "little"), content[position + 6]
        whole += content[position + 7 : position + 7 + size]
        position += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(whole)
            whole = b""


def logged(folder):
    """The config and the history of the only run in a folder."""
    (path,) = (folder / "wandb").glob("offline-run-*/*.wandb")
    until = time.monotonic() + 30
    while not any(record.HasField("exit") for record in records(path)):  # W&B's own process writes the file
        assert time.monotonic() < until
        time.sleep(0.05)
    config, history = {}, []
    for record in records(path):
        for item in record.run.config.update:
            config[item.key] = json.loads(item.value_json)
        if record.HasField("history"):
            items = {"".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
            history.append((items.pop("_step"), {k: v for k, v in items.items() if not k.startswith("_")}))
    return config, history


def test_rounds_are_steps(tmp_path):
    with wandb_run("mine", "a run", {"lr": 0.1}, folder=tmp_path / "log", quiet=True) as write:
        write(ROWS)
    config, history = logged(tmp_path / "log")
    assert config["lr"] == 0.1
    assert history == [(1, {"loss": 0.5}), (2, {"accuracy": 25.0, "loss": 0.25})]


def test_a_run_that_w_and_b_refuses():
    with pytest.raises(InputError, match="cannot log to W&B: "), wandb_run("a/b", "a run", {}, quiet=True):
        pass


def test_the_command_logs_its_history(tmp_path):
    flags = ["run", "--quiet", "--rounds", "3", "--eval-every", "2", "--local-steps", "3", "--log-dir", "log"]
    assert fedcos.main([*flags, "--wandb", "mine", "--out", "result.json"]) == 0
    config, history = logged(tmp_path / "log")
    written = files.read(tmp_path / "result.json")["history"]
    assert [step for step, _ in history] == [1, 2, 3]
    assert [row["train_loss"] for _, row in history] == written["train_loss"]
    assert [row["accuracy"] for _, row in history if "accuracy" in row] == written["accuracy"]
    assert config["method"] == "FedCos(0.02)"
