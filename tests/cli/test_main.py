"""The command as a user types it: results, and one clear line for every mistake."""

import gzip
import json
import subprocess
import sys

import pytest

from fedcos_jax.cli import flags
from fedcos_jax.cli import main as command
from fedcos_jax.data import DATA_DIR_VARIABLE
from fedcos_jax.data.mnist import FILES

SHORT = ["run", "--quiet", "--rounds", "2", "--local-steps", "3"]
"""The length of the local training comes last."""


def fedcos(capsys, *arguments):
    """Exit code, standard output and standard error of the command."""
    try:
        code = command.main(list(arguments))
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_run_prints_and_writes_its_result(capsys, tmp_path):
    out = tmp_path / "deep" / "result.json"
    code, printed, _ = fedcos(capsys, *SHORT, "--method", "fedopt", "--server-lr", "1.2", "--out", str(out))
    result = json.loads(out.read_text())
    assert code == 0
    assert result["method"] == "FedOpt(1.2)"
    assert f"{result['last_accuracy']:.2f}%" in printed
    assert {"dataset", "model", "partition", "seed", "rounds", "best_accuracy", "config", "versions"} <= set(result)
    assert result["history"]["round"] == [1, 2]
    assert all(len(column) == 2 for column in result["history"].values())
    assert sorted(path.name for path in out.parent.iterdir()) == ["result.json", "result.toml"]


def test_the_same_seed_gives_the_same_result(capsys, tmp_path):
    for name in ("a", "b"):
        fedcos(capsys, *SHORT, "--partition", "iid", "--fraction", "0.5", "--seed", "4", "--out", str(tmp_path / name))
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("a", "b"))
    assert first["history"] == second["history"]


@pytest.mark.parametrize(
    ("arguments", "label"),
    [
        ([], "FedCos(0.02)"),
        (["--method", "FedAvg"], "FedAvg"),
        (["--method", "FedAvg", "--cos-strength", "0.1"], "FedCos(0.1)"),
        (["--method", "fedprox", "--prox-strength", "0.3", "--cos-strength", "0.1"], "FedProx(0.3)+FedCos(0.1)"),
        (["--method", "FedAvgM(0.7)+FedCos"], "FedAvgM(0.7)+FedCos(0.02)"),
    ],
)
def test_methods_by_label_and_by_flags(arguments, label):
    config, _ = flags.resolve(command.parser().parse_args(["run", *arguments]))
    assert config.method == label


def test_flags_reach_the_run(capsys, tmp_path):
    out = tmp_path / "r.json"
    flags = ["--local-epochs", "1", "--momentum", "0.5", "--weight-decay", "1e-4", "--lr-schedule", "cosine"]
    flags += ["--damped-momentum", "--uniform-weights", "--epsilon", "1e-4", "--eval-every", "2", "--chunk", "3"]
    flags += ["--no-augment", "--source", "embedded", "--method", "FedAvgM(0.5)+FedCos(0.02)"]
    code, _, _ = fedcos(capsys, *SHORT[:-2], *flags, "--out", str(out))
    config = json.loads(out.read_text())["config"]
    assert code == 0
    expected = {"local_epochs": 1, "momentum": 0.5, "weight_decay": 1e-4, "lr_schedule": "cosine", "epsilon": 1e-4}
    expected |= {"damped_momentum": True, "uniform_weights": True, "eval_every": 2, "chunk": 3, "before_server": False}
    expected |= {"augment": False}
    assert expected.items() <= config.items()


MISTAKES = {
    "unknown method": (["--method", "fedfoo"], "unknown method 'fedfoo'"),
    "unknown dataset": (["--dataset", "digit"], "did you mean 'digits'"),
    "unknown model": (["--model", "mpl"], "unknown model"),
    "small images": (["--model", "cnn"], "cnn needs images of at least 16x16, got 8x8"),
    "images to a text model": (["--model", "lstm"], "lstm takes symbols, not inputs of shape 8x8"),
    "floats to a text model": (
        ["--model", "lstm", "--dataset", "synthetic(0,0,5)", "--partition", "natural"],
        "lstm takes symbols, not inputs of shape 60 and type float32 (those fit: mlp)",
    ),
    "unknown partition": (["--partition", "sort"], "unknown partition"),
    "replay of another partition": (["--replay", "111", "--partition", "iid"], "only shards2, sorted, natural can be"),
    "unknown schedule": (["--lr-schedule", "linear"], "one of: constant, exponential, cosine"),
    "fraction above one": (["--fraction", "1.5"], "must lie in (0, 1], got 1.5"),
    "fraction zero": (["--fraction", "0"], "must lie in (0, 1], got 0"),
    "no clients": (["--clients", "0"], "at least 1, got 0"),
    "more clients than rows": (["--clients", "5000"], "5000 clients are more than the 1437 rows"),
    "negative strength": (["--cos-strength", "-0.1"], "FedCos strength must be at least 0, got -0.1"),
    "negative epsilon": (["--epsilon", "-1"], "epsilon must be at least 0"),
    "negative rate": (["--lr", "-1"], "learning rate must be at least 0"),
    "not a number": (["--rounds", "many"], "rounds must be a whole number, got 'many'"),
    "no rounds": (["--rounds", "0"], "rounds must be at least 1"),
    "foreign number": (["--method", "FedAvg", "--server-lr", "2"], "--server-lr is a number of FedOpt"),
    "no data directory": (["--dataset", "shakespeare"], DATA_DIR_VARIABLE),
    "missing data directory": (["--dataset", "fashion_mnist", "--data-dir", "nowhere"], "nowhere does not exist"),
    "number of a method": (["--server-lr", "fast"], "server lr must be a number, got 'fast'"),
    "unknown flag": (["--methd", "FedAvg"], "unknown argument '--methd'; did you mean '--method'?"),
    "a flag that is near no other": (["--gpu"], "unknown argument '--gpu' (--help lists them all)"),
    "flag without value": (["--rounds"], "argument --rounds: expected one argument"),
    "unknown source": (["--source", "file"], "unknown source 'file'; did you mean 'files'?"),
    "foreign source": (["--source", "tfds"], "digits is embedded"),
    "no config": (["--config", "none.toml"], "cannot read the config none.toml"),
    "result as TOML": (["--out", "r.toml"], "--out is the JSON file"),
    "negative seed": (["--seed", "-1"], "seed must be at least 0"),
    "huge batch": (["--batch-size", "99999999999999"], "batch size must be below 2**31"),
    "steps and epochs": (["--local-steps", "2", "--local-epochs", "1"], "give --local-steps or --local-epochs"),
    "a number twice": (["--method", "FedCos(0.01)", "--cos-strength", "0.5"], "the number of FedCos is given twice"),
    "seconds without checkpoints": (["--checkpoint-seconds", "5"], "--checkpoint-seconds needs --checkpoint-dir"),
    "option of another method": (["--method", "FedAvg", "--epsilon", "1e-4"], "--epsilon is an option of FedCos"),
    "events without a log": (["--tensorboard"], "--tensorboard needs --log-dir"),
    "huge seed": (["--seed", "99999999999"], "below 2**32"),
    "decay without its schedule": (["--lr-decay", "0.5"], "lr_decay is the number of lr_schedule exponential"),
    "too many devices": (["--devices", "99", "--log-dir", "log"], "99 devices are more than"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_get_one_line(capsys, tmp_path, monkeypatch, mistake):
    monkeypatch.delenv(DATA_DIR_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    arguments, message = MISTAKES[mistake]
    code, printed, error = fedcos(capsys, "run", "--out", "result.json", *arguments)
    assert code == 2
    assert printed == ""
    assert error.startswith("fedcos: error: ")
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_truncated_file(capsys, tmp_path):
    folder = tmp_path / "fashion_mnist"
    folder.mkdir()
    for name in FILES:
        (folder / name).touch()
    whole = gzip.compress(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(range(256)) * 6 + bytes(32))
    for content, message in ((whole[: len(whole) // 2], "damaged"), (b"not gzip at all", "damaged")):
        (folder / "train-images-idx3-ubyte.gz").write_bytes(content)
        code, _, error = fedcos(capsys, "run", "--dataset", "fashion_mnist", "--data-dir", str(tmp_path))
        assert code == 2
        assert message in error
        assert error.count("\n") == 1


def test_unwritable_result(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, error = fedcos(capsys, *SHORT, "--out", str(tmp_path / "file" / "result.json"))
    assert code == 2
    assert "cannot write" in error
    code, _, error = fedcos(capsys, *SHORT, "--out", str(tmp_path))
    assert code == 2
    assert "it is a folder" in error
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_results_with_a_dot_in_their_names_keep_configs_of_their_own(capsys, tmp_path):
    assert fedcos(capsys, *SHORT, "--out", str(tmp_path / "mu_0.01"))[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mu_0.01", "mu_0.01.toml"]


@pytest.mark.parametrize(
    "command", ["", "run", "evaluate", "plot", "data", "data prepare", "partition", "list", "completion"]
)
def test_help_has_examples(capsys, command):
    code, printed, _ = fedcos(capsys, *command.split(), "--help")
    assert code == 0
    assert f"examples:\n  fedcos {command}".rstrip() in printed


def test_the_command_alone_prints_its_help(capsys):
    code, printed, error = fedcos(capsys)
    assert (code, error) == (0, "")
    assert "examples:\n  fedcos run" in printed
    assert fedcos(capsys, "--typo")[0] == 2


def test_the_word_error_is_red_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert fedcos(capsys, "run", "--gpu")[2].startswith("fedcos: \x1b[31merror:\x1b[0m unknown argument")


def test_list_names_everything(capsys):
    code, printed, _ = fedcos(capsys, "list")
    assert code == 0
    for name in (
        "digits",
        "fashion_mnist",
        "mlp",
        "ResNet18 with",
        "mixed90",
        "shards2",
        "FedAvgM(0.5)",
        "--cos-strength",
    ):
        assert name in printed


def test_a_reader_that_stops_is_no_mistake():
    command = f"{sys.executable} -m fedcos_jax.cli list | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("datasets\n", "")


def test_installed_command():
    run = subprocess.run(
        [sys.executable, "-m", "fedcos_jax.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("fedcos ")


def test_real_fashion_mnist(capsys, real_data):
    code, printed, _ = fedcos(capsys, *SHORT, "--dataset", "fashion_mnist", "--data-dir", str(real_data))
    assert code == 0
    assert "FedCos(0.02) on fashion_mnist" in printed
