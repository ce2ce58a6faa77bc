"""A run that was killed goes on from its checkpoint as if nothing had happened."""

import dataclasses

import chex
import jax
import pytest

from fedcos_jax import Schedule, devices, run
from fedcos_jax.errors import InputError
from fedcos_jax.labels import parse
from fedcos_jax.runs.checkpoint import Checkpoints
from fedcos_jax.runs.config import Config
from tests.problems import small_experiment

KEY = jax.random.key(7)
SCHEDULE = Schedule(rounds=5, local_steps=3, batch_size=3, cohort=4, eval_every=2)


class KilledError(Exception):
    """Stands for the end of the process."""


def experiment(method, **changes):
    return small_experiment(parse(method).build(), dataclasses.replace(SCHEDULE, **changes), sizes=(4, 7, 6, 9, 5))


def advance(folder, method, killed_after=None, every=60.0, keep_end=True, **changes):
    """The last state and the history of the run that the folder holds, until it is killed or has ended."""
    states = []

    def watch(report):
        states.append(jax.device_get(report.state))
        if report.completed == killed_after:
            raise KilledError

    checkpoints = Checkpoints(folder, {"method": method}, every, keep_end=keep_end)
    try:
        history = checkpoints.run(KEY, experiment(method, **changes), [watch])
    except KilledError:
        return None
    return states[-1], history


def uninterrupted(method):
    return jax.device_get(run(KEY, experiment(method)))


@pytest.mark.parametrize("method", ["FedAvg", "FedAvgM(0.5)+FedCos(0.2)", "SCAFFOLD+FedCos(0.2)"])
@pytest.mark.parametrize("killed_after", [4, 5], ids=["between evaluations", "at the end"])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, method, killed_after):
    folder = tmp_path / "kept"
    assert advance(folder, method, killed_after, every=0) is None
    state, history = advance(folder, method, every=0)
    chex.assert_trees_all_equal((state, history), uninterrupted(method))
    again = advance(folder, method, every=0)
    chex.assert_trees_all_equal(again, (state, history))


def test_a_run_goes_on_to_more_rounds(tmp_path):
    advance(tmp_path / "kept", "FedCos(0.2)", rounds=4)
    longer = advance(tmp_path / "kept", "FedCos(0.2)")
    chex.assert_trees_all_equal(longer, uninterrupted("FedCos(0.2)"))
    with pytest.raises(InputError, match="holds 5 rounds of the run, more than 4"):
        advance(tmp_path / "kept", "FedCos(0.2)", rounds=4)


def test_callbacks_are_told_what_the_folder_holds(tmp_path):
    advance(tmp_path / "kept", "FedAvg")
    reports = []
    Checkpoints(tmp_path / "kept", {"method": "FedAvg"}).run(KEY, experiment("FedAvg"), [reports.append])
    assert [report.completed for report in reports] == [2, 4, 5]
    assert [len(report.rounds.train_loss) for report in reports] == [2, 2, 1]


def test_nothing_is_kept_before_it_is_time(tmp_path):
    advance(tmp_path / "kept", "FedAvg", keep_end=False)
    assert not (tmp_path / "kept").exists()


def test_only_the_latest_is_kept(tmp_path):
    advance(tmp_path / "kept", "FedAvg", every=0)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["5"]


def test_time_adds_up_over_the_lives_of_a_run(tmp_path):
    def stop(report):
        return report.completed == 2

    first = Checkpoints(tmp_path / "kept", {}, every=0)
    first.run(KEY, experiment("FedAvg"), [stop])
    second = Checkpoints(tmp_path / "kept", {}, every=0)
    second.run(KEY, experiment("FedAvg"))
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


@pytest.mark.parametrize("method", ["FedCos(0.2)", "SCAFFOLD"])
def test_a_run_goes_on_with_another_number_of_devices(x64, tmp_path, method):
    for rounds, count in [(2, 4), (4, 1), (5, 3)]:
        state, history = advance(tmp_path / "kept", method, rounds=rounds, placement=devices.available(count))
    whole, whole_history = uninterrupted(method)
    chex.assert_trees_all_close((state.params, history), (whole.params, whole_history), rtol=1e-9)
