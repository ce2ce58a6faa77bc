"""A run that was killed goes on from its checkpoint as if nothing had happened."""

import dataclasses
import itertools
import os
import subprocess
import sys
from pathlib import Path

import chex
import jax
import pytest
from problems import SOFTMAX_REGRESSION, gaussian_data

from fedcos_jax import Schedule, client_sgd, run
from fedcos_jax.runs.checkpoint import Checkpoints
from fedcos_jax.errors import InputError
from fedcos_jax.runs.config import Config
from fedcos_jax.methods import parse
from fedcos_jax.engine.loop import join

KEY = jax.random.key(7)
SCHEDULE = Schedule(rounds=5, local_steps=3, batch_size=3, cohort=4, eval_every=2)


def start(method):
    return KEY, parse(method).build(), client_sgd(0.1), gaussian_data((4, 7, 6, 9, 5)), SOFTMAX_REGRESSION


def advance(folder, method, schedule=SCHEDULE, stretches=None, **options):
    """The last state and the history of so many stretches of the run that the folder holds."""
    checkpoints = Checkpoints(folder, {"method": method}, **options)
    ended = list(itertools.islice(checkpoints.stretches(*start(method), schedule), stretches))
    return jax.device_get(ended[-1][0]), join([history for _, history in ended])


@pytest.mark.parametrize("method", ["FedAvg", "FedAvgM(0.5)+FedCos(0.2)", "SCAFFOLD+FedCos(0.2)"])
@pytest.mark.parametrize("killed_after", [1, 2])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, method, killed_after):
    folder = tmp_path / "kept"
    advance(folder, method, stretches=killed_after, every=0)
    state, history = advance(folder, method, every=0)
    chex.assert_trees_all_equal((state, history), jax.device_get(run(*start(method), SCHEDULE)))
    again = advance(folder, method, every=0)
    chex.assert_trees_all_equal(again, (state, history))


def test_a_run_goes_on_to_more_rounds(tmp_path):
    advance(tmp_path / "kept", "FedCos(0.2)", dataclasses.replace(SCHEDULE, rounds=4))
    longer = advance(tmp_path / "kept", "FedCos(0.2)")
    chex.assert_trees_all_equal(longer, jax.device_get(run(*start("FedCos(0.2)"), SCHEDULE)))
    with pytest.raises(InputError, match="holds 5 rounds of the run, more than 4"):
        advance(tmp_path / "kept", "FedCos(0.2)", dataclasses.replace(SCHEDULE, rounds=4))


def test_nothing_is_kept_before_it_is_time(tmp_path):
    advance(tmp_path / "kept", "FedAvg", keep_end=False)
    assert not (tmp_path / "kept").exists()


def test_only_the_latest_is_kept(tmp_path):
    advance(tmp_path / "kept", "FedAvg", every=0)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["5"]


def test_time_adds_up_over_the_lives_of_a_run(tmp_path):
    first = Checkpoints(tmp_path / "kept", {}, every=0)
    next(first.stretches(*start("FedAvg"), SCHEDULE))
    second = Checkpoints(tmp_path / "kept", {}, every=0)
    list(second.stretches(*start("FedAvg"), SCHEDULE))
    assert second.seconds > first.seconds > 0


def test_another_run_is_not_taken_for_this_one(tmp_path):
    advance(tmp_path / "kept", "FedAvg")
    message = r"kept holds another run, with method FedAvg instead of FedCos\(0.2\): remove it or choose another folder"
    with pytest.raises(InputError, match=message):
        advance(tmp_path / "kept", "FedCos(0.2)")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"rounds": 30}, True),
        ({"chunk": 2, "devices": 1}, True),
        ({"lr": 0.1}, False),
        ({"rounds": 30, "lr_schedule": "cosine"}, False),
    ],
)
def test_what_makes_a_run_another(changes, same):
    plain = Config(lr_schedule=changes.get("lr_schedule", "constant"))
    assert (dataclasses.replace(plain, **changes).identity == plain.identity) is same


ON_DEVICES = """
import sys
from pathlib import Path
import chex
import jax
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_enable_x64", True)
import dataclasses
from fedcos_jax import run
from test_checkpoint import SCHEDULE, advance, start

on = lambda devices, rounds: dataclasses.replace(SCHEDULE, rounds=rounds, devices=devices)
for method in ["FedCos(0.2)", "SCAFFOLD"]:
    folder = Path(sys.argv[1]) / method
    for rounds, devices in [(2, 4), (4, 1), (5, 3)]:
        state, history = advance(folder, method, on(devices, rounds))
    whole, whole_history = jax.device_get(run(*start(method), on(1, 5)))
    chex.assert_trees_all_close((state.params, history), (whole.params, whole_history), rtol=1e-9)
"""


def test_a_run_goes_on_with_another_number_of_devices(tmp_path):
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here.parent), str(here)])}
    subprocess.run([sys.executable, "-c", ON_DEVICES, str(tmp_path)], env=environment, check=True)
