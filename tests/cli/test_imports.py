"""A user's own file brings names and flags to every command, and its mistakes are told in one line."""

import json
import sys
import tomllib

import pytest

from fedcos_jax.cli import main as fedcos
from fedcos_jax.labels import METHODS

MINE = """
import optax
from jax.tree_util import Partial

import fedcos_jax as fc


def build(options, lr):
    return fc.fedavg()._replace(server=Partial(optax.adagrad, lr))


parameters = (fc.labels.Parameter("lr", 0.01, "mine_lr"),)
fc.labels.METHODS["mine"] = fc.labels.Entry("Mine", build, "Adagrad on the server", parameters)
"""
SHORT = ["--quiet", "--rounds", "2", "--local-steps", "3", "--devices", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the file, from which commands are called. Nothing stays registered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_method.py").write_text(MINE)
    yield tmp_path
    METHODS.pop("mine", None)
    for name in ("my_method", "fedcos_import_my_method"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["my_method.py", "my_method"])
def test_a_run_of_ones_own_method(folder, name):
    assert fedcos.main(["run", "--method", "mine", *SHORT]) == 2
    flags = ["--import", name, "--method", "mine", "--mine-lr", "0.3", "--log-dir", "log"]
    assert fedcos.main(["run", *SHORT, *flags, "--out", "first.json"]) == 0
    first = json.loads((folder / "first.json").read_text())
    assert first["method"] == "Mine(0.3)"
    config = tomllib.loads((folder / "first.toml").read_text())
    assert config["import"] == [name]
    assert (folder / "log" / "config.toml").read_bytes() == (folder / "first.toml").read_bytes()
    METHODS.pop("mine")
    sys.modules.pop("my_method", None)
    assert fedcos.main(["run", "--quiet", "--config", "first.toml", "--out", "second.json"]) == 0
    assert json.loads((folder / "second.json").read_text())["history"] == first["history"]


def test_a_name_does_not_make_a_run_another_one(folder):
    kept = ["--checkpoint-dir", "kept", "--log-dir", "log", "--no-tensorboard"]
    assert fedcos.main(["run", *SHORT, *kept]) == 0
    assert fedcos.main(["run", *SHORT, *kept, "--import", "my_method.py", "--rounds", "3"]) == 0


def test_sweeps_lists_and_dry_runs_know_the_name(folder, capsys):
    assert fedcos.main(["list", "--import", "my_method.py"]) == 0
    assert "Mine(0.01)       Adagrad on the server; --mine-lr" in capsys.readouterr().out
    flags = ["--import", "my_method.py", "--method", "Mine"]
    assert fedcos.main(["sweep", *SHORT, *flags, "--grid", "mine_lr=0.1,0.2"]) == 0
    assert "mine_lr" in (folder / "sweep" / "sweep.csv").read_text()
    capsys.readouterr()
    assert fedcos.main(["run", "--dry-run", *SHORT, *flags]) == 0
    assert 'method = "Mine(0.01)"' in capsys.readouterr().out


MISTAKES = {
    "no file": ("none.py", None, "cannot import none.py: there is no such file"),
    "no module": ("no_such_module", None, "ModuleNotFoundError: No module named 'no_such_module'"),
    "syntax": ("bad.py", "x = 1\ny = (", "bad.py, line 2: SyntaxError: '(' was never closed"),
    "an error": ("bad.py", "\n\nnot_there", "bad.py, line 3: NameError: name 'not_there' is not defined"),
    "in a module": ("bad_module", "\nnot_there", "bad_module.py, line 2: NameError"),
    "an error below": ("bad.py", "import fedcos_jax as fc\nfc.parse('nothing')", "bad.py, line 2: InputError: unknown"),
    "an end": ("bad.py", "raise SystemExit('over')", "bad.py, line 1: SystemExit: over"),
    "a flag that is taken": (
        "bad.py",
        MINE.replace("mine_lr", "momentum"),
        "--momentum cannot be a flag of Mine: another setting has the name momentum",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_get_one_line(folder, capsys, mistake):
    name, text, message = MISTAKES[mistake]
    if text is not None:
        (folder / f"{name.removesuffix('.py')}.py").write_text(text)
    assert fedcos.main(["run", "--import", name, "--out", "result.json"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "result.json").exists()


def test_the_key_of_a_config_is_a_list(folder, capsys):
    (folder / "run.toml").write_text("import = 3\n")
    assert fedcos.main(["run", "--config", "run.toml"]) == 2
    assert "the key import of run.toml must be a list of files or modules" in capsys.readouterr().err
