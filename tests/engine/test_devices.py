"""Several devices give the results of one."""

import dataclasses
import functools
import os

import chex
import jax
import pytest

from fedcos_jax import devices, run, scaffold
from fedcos_jax.engine.loop import compile_segment, initial_state
from fedcos_jax.errors import InputError
from fedcos_jax.labels import parse
from tests.problems import small_experiment

KEY = jax.random.key(7)
CASES = {
    "everyone": {"cohort": 5},
    "one client more than devices": {"cohort": 5, "devices": 4, "chunk": 1},
    "fewer clients than devices": {"cohort": 3, "devices": 4},
    "one client": {"cohort": 1, "devices": 4},
    "two devices": {"cohort": 5, "devices": 2},
    "two devices, chunks of two": {"cohort": 5, "devices": 2, "chunk": 2},
    "unequal clients": {"cohort": 5, "local_epochs": 2, "devices": 3},
    "unequal clients, chunks of two": {"cohort": 5, "local_epochs": 2, "devices": 2, "chunk": 2},
    "clients that remember": {"cohort": 3, "devices": 3, "method": "SCAFFOLD+FedCos(0.2)"},
    "clients that remember, in chunks": {"cohort": 5, "devices": 2, "chunk": 2, "method": "FedDyn(0.4)"},
    "unequal clients that remember": {"cohort": 4, "local_epochs": 2, "devices": 4, "method": "SCAFFOLD"},
    "and in chunks": {"cohort": 5, "local_epochs": 2, "devices": 2, "chunk": 2, "method": "FedDyn(0.4)"},
    "in waves": {"clients": 80, "cohort": 75, "devices": 2, "method": "SCAFFOLD"},
    "unequal clients in waves": {"clients": 40, "local_epochs": 2, "devices": 2, "chunk": 3, "method": "SCAFFOLD"},
}


@functools.cache
def outcome(devices_used, *, method="FedOpt(1.2)+FedCos(0.2)", clients=5, **shape):
    """Parameters, client memories and history of four rounds."""
    sizes = (4, 7, 6, 9, 5) * (clients // 5)
    shape |= {"rounds": 4, "batch_size": 2, "eval_batch": 4, "placement": devices.available(devices_used)}
    state, history = run(KEY, small_experiment(parse(method).build(), sizes=sizes, **shape))
    memories = jax.tree.map(lambda leaf: leaf[:clients], state.client_memories)
    return [leaf.tolist() for leaf in jax.tree.leaves(jax.device_get((state.params, memories, history)))]


@pytest.mark.parametrize("case", CASES)
def test_devices_do_not_change_the_result(x64, case):
    shape = dict(CASES[case])
    several = outcome(shape.pop("devices", None), **shape)
    shape.pop("chunk", None)
    one = outcome(1, **shape)
    flat = zip(jax.tree.leaves(several), jax.tree.leaves(one), strict=True)
    assert all(a == pytest.approx(b, rel=1e-9, abs=1e-12, nan_ok=True) for a, b in flat)


def test_memories_are_made_where_they_stay():
    federation = small_experiment(scaffold(), sizes=(4, 7, 6, 9, 5)).federation
    state = initial_state(KEY, federation)
    specs = {leaf.sharding.spec for leaf in jax.tree.leaves(state.client_memories)}
    assert specs == {devices.DIVIDED}


@pytest.mark.parametrize("length", [{}, {"local_epochs": 1}], ids=["equal", "unequal"])
def test_memories_are_exchanged_without_a_second_copy(length):
    """Of the memories that a device holds there is one copy, in the buffer given; besides them only those of a wave."""
    shape = {"rounds": 2, "batch_size": 2, "cohort": 100, "eval_batch": 50, "chunk": 4, "local_steps": 1} | length
    experiment = small_experiment(scaffold(), sizes=[2, 4] * 2000, placement=devices.available(2), **shape)
    program, (state, *_) = compile_segment(KEY, experiment)
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(state.client_memories)) / 2
    analysis = program.memory_analysis()
    assert analysis.alias_size_in_bytes >= held
    assert analysis.temp_size_in_bytes < held / 2


def test_a_state_goes_on_with_another_number_of_devices(x64):
    """Memories are stored in rows that the devices can divide, so their number changes."""

    def on(count, rounds):
        shape = {"rounds": rounds, "cohort": 4, "placement": devices.available(count)}
        return small_experiment(scaffold(), sizes=(4, 7, 6, 9, 5), **shape)

    state = None
    for count, rounds in ((4, 2), (1, 3), (3, 5)):
        state, _ = run(KEY, on(count, rounds), state=state)
    whole, _ = run(KEY, on(1, 5))
    chex.assert_trees_all_close(jax.device_get(state.params), jax.device_get(whole.params), rtol=1e-9)


def test_a_placement_is_a_value():
    two = devices.available(2)
    assert two == devices.available().first(2)
    assert {two: 1}[devices.available(2)] == 1
    assert two.even_rows(5) == 6
    assert two.writes
    for count in (0, 1000):
        with pytest.raises(InputError, match="devices"):
            devices.available(count)


def test_devices_set_up_too_late_are_left_as_they_are():
    before = jax.devices(), dict(os.environ)
    devices.use_all_cores()
    assert (jax.devices(), os.environ) == before


def test_devices_wait_for_each_other(monkeypatch):
    """XLA's limit is lifted where it has one, and the user's own flags stay."""
    monkeypatch.setattr(jax.config, "update", lambda name, value: None)
    monkeypatch.setenv("XLA_FLAGS", "--xla_one=1")
    devices.use_all_cores()
    devices.use_all_cores()
    assert os.environ["XLA_FLAGS"].startswith("--xla_one=1 --xla_cpu_collective_call_terminate_timeout_seconds=")
    assert os.environ["XLA_FLAGS"].count("terminate") == 1


def test_placements_of_one_schedule_share_nothing_but_the_numbers(x64):
    """A schedule says where to run; the default is everywhere."""
    experiment = small_experiment()
    assert experiment.federation.shapes.placement.count == 4
    single = dataclasses.replace(experiment.schedule, placement=devices.available(1))
    assert experiment.replace(schedule=single).federation.shapes.placement.count == 1
