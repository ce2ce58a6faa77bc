"""What `fedcos run` reads and leaves: config files, logs as the run goes on, and estimates."""

import csv
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import jax
import pytest

from fedcos_jax.cli import main as fedcos
from fedcos_jax.cli import run
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.runs import log

# The same shapes and structure everywhere here, so that they share compiled programs.
SHORT = ["run", "--quiet", "--rounds", "3", "--eval-every", "2", "--devices", "1", "--local-steps", "3"]
FLAGS = ["--method", "fedopt", "--server-lr", "1.2", "--momentum", "0.5", "--seed", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with everything it can leave: result.json, result.toml and log/."""
    folder = tmp_path_factory.mktemp("run")
    places = ["--out", str(folder / "result.json"), "--log-dir", str(folder / "log")]
    assert fedcos.main([*SHORT, *FLAGS, *places]) == 0
    return folder


@pytest.fixture(scope="module")
def result(folder):
    return json.loads((folder / "result.json").read_text())


def test_the_saved_config_gives_the_same_run(folder, result, tmp_path):
    again = tmp_path / "again.json"
    assert fedcos.main(["run", "--quiet", "--config", str(folder / "result.toml"), "--out", str(again)]) == 0
    repeated = json.loads(again.read_text())
    assert repeated["config"] == result["config"]
    assert repeated["history"] == result["history"]
    assert again.with_suffix(".toml").read_bytes() == (folder / "result.toml").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("roudns = 3", "unknown key of run.toml: 'roudns'; did you mean 'rounds'?"),
        ("[schedule]\nrounds = 3", "unknown key of run.toml: 'schedule'"),
        ("rounds = 2.5", "rounds must be a whole number, got '2.5'"),
        ("augment = 1", "augment must be true or false, got '1'"),
        ("rounds = ", "run.toml is not TOML"),
    ],
)
def test_mistakes_in_the_file(capsys, tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(text)
    assert fedcos.main(["run", "--config", "run.toml", "--out", "result.json"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_the_csv_is_the_history(folder, result):
    with (folder / "log" / log.CSV_FILE).open() as stream:
        rows = list(csv.DictReader(stream))
    history = result["history"]
    assert [row["accuracy"] for row in rows] == ["", *map(str, history["accuracy"])]
    assert [int(row["round"]) for row in rows] == [1, 2, 3]
    for column in set(history) - {"round", "accuracy", "test_loss"}:
        assert [float(row[column]) for row in rows] == history[column]
    assert (folder / "log" / log.CONFIG_FILE).read_bytes() == (folder / "result.toml").read_bytes()


def test_the_json_lines_are_the_csv(folder):
    objects = [json.loads(line) for line in (folder / "log" / log.JSON_FILE).read_text().splitlines()]
    with (folder / "log" / log.CSV_FILE).open() as stream:
        rows = list(csv.DictReader(stream))
    assert [list(one) for one in objects] == [["round", *log.EVALUATED, *RoundInfo._fields]] * 3
    shown = [{name: "" if value is None else str(value) for name, value in one.items()} for one in objects]
    assert shown == rows


def test_event_files_have_the_history(folder, result):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import masked_crc32c

    (path,) = (folder / "log").glob("events.out.tfevents.*")
    content, found = path.read_bytes(), {}
    while content:
        size = int.from_bytes(content[:8], "little")
        record = content[12 : 12 + size]
        assert int.from_bytes(content[12 + size : 16 + size], "little") == masked_crc32c(record)
        event = Event.FromString(record)
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
        content = content[16 + size :]
    assert found["accuracy"] == pytest.approx(dict(zip([2, 3], result["history"]["accuracy"], strict=True)))
    assert found["global_move"] == pytest.approx(dict(zip([1, 2, 3], result["history"]["global_move"], strict=True)))


def test_a_killed_run_leaves_what_it_had(tmp_path):
    written = tmp_path / "log"
    command = [sys.executable, "-m", "fedcos_jax.cli", "run", "--rounds", "1000000", "--local-steps", "1", "--quiet"]
    process = subprocess.Popen([*command, "--log-dir", str(written), "--out", str(tmp_path / "result.json")])
    try:
        while process.poll() is None and not _rows(written / log.CSV_FILE)[2:]:
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    rows = _rows(written / log.CSV_FILE)
    assert rows[0] == ",".join(["round", *log.EVALUATED, *RoundInfo._fields])
    assert len(rows) > 2
    assert all(row.count(",") == rows[0].count(",") for row in rows)
    assert any(path.stat().st_size > 100 for path in written.glob("events.out.tfevents.*"))
    assert not (tmp_path / "result.json").exists()


def _rows(path):
    return path.read_text().splitlines() if path.exists() else []


def test_without_tensorboard(folder, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    arguments = [*SHORT, *FLAGS, "--log-dir", str(tmp_path / "log")]
    assert fedcos.main([*arguments, "--tensorboard"]) == 2
    assert "pip install tensorboardX" in capsys.readouterr().err
    assert not (tmp_path / "log").exists()
    assert fedcos.main(arguments) == 0
    assert "pip install tensorboardX" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == [log.CONFIG_FILE, log.CSV_FILE, log.JSON_FILE]


def test_a_log_is_not_overwritten(folder, capsys):
    before = (folder / "log" / log.CSV_FILE).read_bytes()
    assert fedcos.main([*SHORT, "--log-dir", str(folder / "log")]) == 2
    assert "holds the log of a run already" in capsys.readouterr().err
    assert (folder / "log" / log.CSV_FILE).read_bytes() == before


def test_what_is_there_is_not_written_over(folder, tmp_path, capsys):
    mine = tmp_path / "mine.toml"
    mine.write_text("# by hand\nrounds = 1\n")
    assert fedcos.main(["run", "--quiet", "--config", str(mine), "--out", str(tmp_path / "mine.json")]) == 2
    assert "would write over the config" in capsys.readouterr().err
    assert mine.read_text() == "# by hand\nrounds = 1\n"

    (tmp_path / "a.toml").mkdir()
    places = ["--out", str(tmp_path / "a.json"), "--log-dir", str(tmp_path / "log")]
    assert fedcos.main([*SHORT, *FLAGS, *places]) == 2
    assert "it is a folder" in capsys.readouterr().err
    before = (folder / "log" / log.CSV_FILE).read_bytes()
    flags = [*SHORT, *FLAGS, "--seed", "4", "--checkpoint-dir", str(tmp_path / "kept")]
    assert fedcos.main([*flags, "--log-dir", str(folder / "log")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", "mine.toml"]
    assert fedcos.main([*flags, "--rounds", "2"]) == 0
    assert fedcos.main([*flags, "--log-dir", str(folder / "log")]) == 2
    assert (folder / "log" / log.CSV_FILE).read_bytes() == before


def test_a_run_is_kept_and_goes_on(folder, result, capsys, tmp_path):
    kept = ["--checkpoint-dir", str(tmp_path / "kept"), "--log-dir", str(tmp_path / "log"), "--no-tensorboard"]
    longer = [*SHORT, *FLAGS, *kept, "--out", str(tmp_path / "result.json")]
    assert fedcos.main([*longer, "--rounds", "2"]) == 0
    assert fedcos.main(longer) == 0
    assert json.loads((tmp_path / "result.json").read_text())["history"] == result["history"]
    for name in (log.CSV_FILE, log.JSON_FILE):
        assert (tmp_path / "log" / name).read_bytes() == (folder / "log" / name).read_bytes()
    (tmp_path / "stray" / "1" / "state").mkdir(parents=True)
    capsys.readouterr()
    for mistake, message in [
        (["--lr", "0.07"], "holds another run, with lr 0.05 instead of 0.07: remove it or choose another folder"),
        (["--rounds", "2"], "holds 3 rounds of the run, more than 2"),
        (["--checkpoint-seconds", "-1"], "the seconds between checkpoints cannot be negative, got -1"),
        (["--checkpoint-dir", str(tmp_path / "result.json")], "cannot keep checkpoints in"),
        (["--checkpoint-dir", str(tmp_path / "stray")], "holds no checkpoint that can be read"),
    ]:
        assert fedcos.main([*longer, *mistake]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert (tmp_path / "log" / log.CSV_FILE).read_bytes() == (folder / "log" / log.CSV_FILE).read_bytes()


def test_a_run_killed_before_its_first_checkpoint_starts_again(tmp_path):
    flags = [*SHORT, *FLAGS, "--checkpoint-dir", str(tmp_path / "kept"), "--log-dir", str(tmp_path / "log")]
    assert fedcos.main([*flags, "--no-tensorboard", "--rounds", "2"]) == 0
    whole = (tmp_path / "log" / log.CSV_FILE).read_bytes()
    shutil.rmtree(tmp_path / "kept")
    assert fedcos.main([*flags, "--no-tensorboard", "--rounds", "2"]) == 0
    assert (tmp_path / "log" / log.CSV_FILE).read_bytes() == whole
    shutil.rmtree(tmp_path / "kept")
    assert fedcos.main([*flags, "--no-tensorboard", "--rounds", "2", "--lr", "0.07"]) == 2


def test_dry_run_says_what_it_would_take_and_leaves_nothing(capsys, tmp_path):
    out = tmp_path / "result.json"
    assert fedcos.main([*SHORT, "--dry-run", "--out", str(out), "--log-dir", str(tmp_path / "log")]) == 0
    config, needs = capsys.readouterr().out.split("\n\n")
    assert tomllib.loads(config)["rounds"] == 3
    assert "15,010" in needs
    assert "MB for the compiled round" in needs
    assert "expected time" in needs
    assert "estimate" in needs
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "flags", [["--method", "FedDyn(0.1)+FedCos(0.02)"], ["--model", "cnn", "--dataset", "digits(16)"]]
)
def test_runs_under_x64(x64, flags):
    """The shipped models stay in float32, so numbers of two precisions meet."""
    with jax.numpy_dtype_promotion("standard"):
        assert fedcos.main(["run", "--rounds", "1", "--local-steps", "1", "--clients", "2", "--quiet", *flags]) == 0


def test_a_run_ends_at_the_accuracy_asked_for(result, tmp_path, capsys):
    reached = result["history"]["accuracy"][0]
    out = tmp_path / "result.json"
    assert fedcos.main([*SHORT, *FLAGS, "--target-accuracy", str(reached), "--out", str(out)]) == 0
    stopped = json.loads(out.read_text())
    assert stopped["rounds"] == 2
    assert stopped["history"]["train_loss"] == result["history"]["train_loss"][:2]
    assert "after 2 rounds" in capsys.readouterr().out
    assert fedcos.main([*SHORT, "--target-accuracy", "0"]) == 2
    assert "in (0, 100], got 0" in capsys.readouterr().err


def test_a_run_ends_when_patience_does(result, tmp_path, capsys):
    out, kept = tmp_path / "result.json", ["--checkpoint-dir", str(tmp_path / "kept"), "--checkpoint-seconds", "0"]
    flags = [*SHORT, *FLAGS, "--rounds", "200", "--lr", "0", "--patience", "2", "--out", str(out), *kept]
    assert fedcos.main(flags) == 0
    stopped = json.loads(out.read_text())
    assert stopped["history"]["round"] == [2, 4, 6]  # no accuracy is better than that of round 2
    assert fedcos.main(flags) == 0
    assert json.loads(out.read_text())["history"] == stopped["history"]
    assert fedcos.main([*SHORT, "--patience", "0"]) == 2
    assert "patience must be at least 1, got 0" in capsys.readouterr().err


def test_a_resumed_run_says_where_it_goes_on(tmp_path, capsys):
    flags = ["run", *SHORT[2:], *FLAGS, "--checkpoint-dir", str(tmp_path / "kept")]
    assert fedcos.main([*flags, "--rounds", "2"]) == 0
    assert "resumed" not in capsys.readouterr().err
    assert fedcos.main(flags) == 0
    assert "FedOpt(1.2): resumed at round 2\n" in capsys.readouterr().err


def test_the_dry_run_prints_the_config_before_it_estimates(capsys, monkeypatch):
    printed = []

    def estimate(prepared):
        printed.append(capsys.readouterr().out)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "estimate", estimate)
    assert fedcos.main([*SHORT, "--dry-run"]) == 130
    assert tomllib.loads(printed[0])["rounds"] == 3


def test_missing_packages_are_named_before_anything_is_written(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for flag, install in (("--wandb", "pip install wandb"), ("--mlflow", "pip install mlflow-skinny")):
        assert fedcos.main([*SHORT, flag, "mine", "--log-dir", str(tmp_path / "log")]) == 2
        error = capsys.readouterr().err
        assert install in error
        assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_run_can_stop_when_it_diverges(tmp_path, capsys):
    flags = ["--rounds", "20", "--lr", "1000", "--eval-every", "20", "--stop-on-divergence"]
    assert fedcos.main(["run", "--quiet", *flags, "--local-steps", "3", "--out", str(tmp_path / "run.json")]) == 3
    result = json.loads((tmp_path / "run.json").read_text())
    assert result["rounds"] < 20
    assert result["diverged"]
    shown = capsys.readouterr().err
    assert [f"fedcos: warning: {sign}" for sign in result["warnings"]] == shown.splitlines()
