"""What the benchmarks share: random data, rounds timed one by one, this machine's name and its matrix-product limit."""

import functools
import itertools
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import Schedule, client_sgd, run
from fedcos_jax.engine import devices
from fedcos_jax.data import Dataset, scaled
from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.cifar import DEVIATION, MEAN
from fedcos_jax.data.dataset import as_stored
from fedcos_jax.runs.config import versions
from fedcos_jax.models import Model
from fedcos_jax.engine.loop import compile_rounds, init_state
from fedcos_jax.types import Examples, FederatedData, FederatedMethod

RESULTS = Path(__file__).parent / "results"


def random_dataset(
    input_shape: tuple[int, ...], classes: int, rows: int, test_rows: int, *, augmented: bool = False
) -> Dataset:
    """Random bytes [rows, height, width, ...], or symbols [rows, length], with random labels."""
    rng = np.random.default_rng(0)
    symbols = len(input_shape) == 1
    highest, dtype = (classes, np.int32) if symbols else (256, np.uint8)

    def examples(rows: int) -> Examples:
        return Examples(rng.integers(0, highest, (rows, *input_shape), dtype), rng.integers(0, classes, rows, np.int32))

    plain = jax.tree_util.Partial(as_stored) if symbols else scaled(255.0, 0.5, 0.5)
    preprocess = crop_and_flip(MEAN, DEVIATION) if augmented else plain
    return Dataset("random", examples(rows), examples(test_rows), classes, preprocess)


def rounds(
    method: FederatedMethod, data: FederatedData, model: Model, at_once: int = 1, **shape: Any
) -> Iterator[float]:
    """Seconds of a round, again and again, as a user's `run` takes them; the compilation is left out.

    Args:
        method, data, model: what is run.
        at_once: rounds in one call, with one evaluation after them; their mean is given.
        shape: of the schedule.
    """
    state = None
    for call in itertools.count(1):
        schedule = Schedule(rounds=call * at_once, eval_every=at_once, **shape)
        if call == 1:
            data = devices.replicate(data, schedule.shapes(data, model).devices)
        started = time.perf_counter()
        state, _ = run(jax.random.key(0), method, client_sgd(0.01), data, model, schedule, state=state)
        if call > 1:
            yield (time.perf_counter() - started) / at_once


def compile_round(
    method: FederatedMethod, data: FederatedData, model: Model, schedule: Schedule
) -> tuple[jax.stages.Compiled, tuple]:
    """`compile_rounds` for the rounds between two evaluations, from a state of zeros, which takes no program."""
    shapes = schedule.shapes(data, model)
    start = functools.partial(init_state, method=method, model=model, num_clients=data.num_clients)
    state = jax.eval_shape(functools.partial(start, devices=shapes.devices), jax.random.key(0))
    state = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), state._replace(key=None))
    state = state._replace(key=jax.random.key(0))
    return compile_rounds(state, method, client_sgd(0.01), data, model, shapes, schedule.eval_every)


def take_turns(timers: Mapping[str, Iterator[float]], repeats: int) -> dict[str, list[float]]:
    """So many times of each timer, in turns, so that a busy moment of the machine hits all; one before warms up."""
    for timer in timers.values():
        next(timer)
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(repeats):
        for name, timer in timers.items():
            seconds[name].append(next(timer))
    return seconds


def calls(f: Any, *arguments: Any) -> Iterator[float]:
    """Seconds of each call of a function that JAX runs."""
    while True:
        started = time.perf_counter()
        jax.block_until_ready(f(*arguments))
        yield time.perf_counter() - started


def matmul_limit() -> float:
    """Best rate of float32 products of 2048 x 2048 matrices on all cores, in multiply-adds a second."""
    product, matrix = jax.jit(jnp.matmul), jnp.ones((2048, 2048))
    timer = calls(product, matrix, matrix)
    next(timer)
    return 2048**3 / min(itertools.islice(timer, 10))


def machine() -> dict[str, Any]:
    """Processor, cores and versions, for a result to name."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system(), **versions()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def read(name: str) -> dict[str, Any]:
    """The measurements that this machine has in benchmarks/results, so that one of several can be taken anew."""
    path = RESULTS / f"{name}.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    return stored if stored.pop("machine", None) == machine() else {}


def write(name: str, measured: Mapping[str, Any]) -> None:
    """The measurements with the machine they were made on, in benchmarks/results."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), **measured}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")
