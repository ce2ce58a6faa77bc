"""Several devices give the results of one: four XLA devices on the CPU, in a process of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from fedcos_jax.engine import devices

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

PROGRAM = f"""
import json
import jax
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_enable_x64", True)
from problems import SOFTMAX_REGRESSION, gaussian_data
from fedcos_jax import Schedule, client_sgd, run, scaffold
from fedcos_jax.engine.loop import compile_rounds, initial_state
from fedcos_jax.methods import parse

def history(method="FedOpt(1.2)+FedCos(0.2)", clients=5, **shape):
    schedule = Schedule(rounds=4, local_steps=3, batch_size=2, eval_batch=4, **shape)
    data = gaussian_data((4, 7, 6, 9, 5) * (clients // 5))
    start = parse(method).build(), client_sgd(0.1), data, SOFTMAX_REGRESSION
    state, history = run(jax.random.key(7), *start, schedule)
    memories = jax.tree.map(lambda leaf: leaf[:clients], state.clients)
    return [leaf.tolist() for leaf in jax.tree.leaves(jax.device_get((state.params, memories, history)))]

key = jax.device_put(jax.random.key(0), jax.devices()[0])
state = initial_state(key, scaffold(), SOFTMAX_REGRESSION, 5, devices=4)
divided = {{jax.sharding.PartitionSpec("clients")}}
assert {{leaf.sharding.spec for leaf in jax.tree.leaves(state.clients)}} == divided, state.clients

def memory(**shape):
    data, method = gaussian_data([2, 4] * 2000), scaffold()
    schedule = Schedule(rounds=2, batch_size=2, cohort=100, devices=2, eval_batch=50, **shape)
    state = initial_state(key, method, SOFTMAX_REGRESSION, data.num_clients, devices=2)
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(state.clients)) / 2
    shapes = schedule.shapes(data, SOFTMAX_REGRESSION)
    program, _ = compile_rounds(state, method, client_sgd(0.1), data, SOFTMAX_REGRESSION, shapes, 2)
    analysis = program.memory_analysis()
    return held, analysis.alias_size_in_bytes, analysis.temp_size_in_bytes

plain = {{"devices": 1, "chunk": None}}
print(json.dumps({{"equal": memory(chunk=4), "unequal": memory(chunk=4, local_epochs=1)}}))
print(json.dumps({{name: [history(**shape), history(**shape | plain)] for name, shape in {CASES!r}.items()}}))
"""


@pytest.fixture(scope="module")
def printed():
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here.parent), str(here)])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("clients", ["equal", "unequal"])
def test_memories_are_exchanged_without_a_second_copy(printed, clients):
    """Of the memories that a device holds there is one copy, in the buffer given; besides them only those of a wave."""
    held, given, besides = printed[0][clients]
    assert given >= held
    assert besides < held / 2


@pytest.mark.parametrize("case", CASES)
def test_devices_do_not_change_the_result(printed, case):
    several, one = printed[1][case]
    flat = zip(jax.tree.leaves(several), jax.tree.leaves(one), strict=True)
    assert all(a == pytest.approx(b, rel=1e-9, abs=1e-12, nan_ok=True) for a, b in flat)


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
