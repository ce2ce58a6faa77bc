"""The default command, run for long: it does not fall apart, and what falls apart says so."""

import json
import os
import subprocess
import sys

LONG = ["--rounds", "300", "--eval-every", "10", "--quiet"]


def fedcos(*arguments):
    # As a user runs it: these runs compute for much longer than they compile.
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    command = [sys.executable, "-m", "fedcos_jax.cli", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_default_holds_for_300_rounds_with_three_seeds(tmp_path):
    done = fedcos("sweep", *LONG, "--seeds", 3, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    sweep = json.loads((tmp_path / "sweep.json").read_text())
    assert [point["seed"] for point in sweep["points"]] == [0, 1, 2]
    assert sweep["config"]["epsilon"] == 1e-4
    for point in sweep["points"]:
        assert point["last10_accuracy"] > 96
        losses = point["history"]["train_loss"]
        assert max(losses) < 2 * losses[0]


def test_the_formula_to_the_letter_falls_apart_and_says_so(tmp_path):
    done = fedcos("run", *LONG, "--seed", 1, "--epsilon", 0, "--out", tmp_path / "run.json")
    result = json.loads((tmp_path / "run.json").read_text())
    assert done.returncode == 0
    assert result["diverged"]
    assert done.stderr.count("fedcos: warning:") == len(result["warnings"]) == done.stderr.count("\n")
    assert "the usual fix is epsilon=1e-4" in done.stderr
    assert f"best {result['best_accuracy']:.2f}% after" in done.stdout
