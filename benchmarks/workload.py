"""What the benchmarks share: rounds timed one by one, and results that name the machine they come from."""

import dataclasses
import itertools
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from fedcos_jax import Experiment, FederatedData, FederatedMethod, Model, Schedule, client_sgd, run
from fedcos_jax.engine import loop
from fedcos_jax.engine.rounds import init_state
from fedcos_jax.runs.result import versions

RESULTS = Path(__file__).parent / "results"


def experiment(
    method: FederatedMethod, data: FederatedData, model: Model, rounds_per_run: int = 1, **shape: Any
) -> Experiment:
    """An experiment with one evaluation, after its last round.

    Args:
        method, data, model: the parts of the experiment. Clients take plain SGD steps.
        rounds_per_run: rounds in each run.
        shape: the other fields of the schedule.
    """
    schedule = Schedule(rounds=rounds_per_run, eval_every=rounds_per_run, **shape)
    return Experiment(method=method, optimizer=client_sgd(0.01), data=data, model=model, schedule=schedule)


def rounds(experiment: Experiment) -> Iterator[float]:
    """Seconds per round, again and again: each is the mean over one call of `run`.

    The first call compiles and is left out. Each later call goes on from the state that the call before it left, and
    takes the rounds up to the next evaluation.
    """
    schedule, state = experiment.schedule, None
    data = experiment.federation.shapes.placement.replicate(experiment.data)
    for call in itertools.count(1):
        longer = dataclasses.replace(schedule, rounds=call * schedule.eval_every)
        continued = experiment.replace(data=data, schedule=longer)
        started = time.perf_counter()
        state, _ = run(jax.random.key(0), continued, state=state)
        if call > 1:
            yield (time.perf_counter() - started) / schedule.eval_every


def compile_round(experiment: Experiment) -> tuple[jax.stages.Compiled, tuple]:
    """`loop.compile_segment` with a state of zeros, for which the program of the initial state is not compiled."""
    placement = experiment.federation.shapes.placement
    federation = placement.replicate(experiment.federation)
    like = jax.eval_shape(init_state, jax.random.key(0), federation)
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like._replace(key=None))
    state = placement.replicate(zeros._replace(key=jax.random.key(0), client_memories=()))
    state = state._replace(client_memories=placement.split(zeros.client_memories))
    arguments = (state, federation, jnp.int32(1), jnp.array(True))
    return loop._compiled_segment.lower(*arguments).compile(), arguments


def take_turns(timers: Mapping[str, Iterator[float]], repeats: int) -> dict[str, list[float]]:
    """Times each timer `repeats` times, in turns, so that a busy moment of the machine hits all. One turn warms up."""
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
    """Best rate of float32 products of 2048 x 2048 matrices on all cores, in multiply-adds per second."""
    product, matrix = jax.jit(jnp.matmul), jnp.ones((2048, 2048))
    timer = calls(product, matrix, matrix)
    next(timer)
    return 2048**3 / min(itertools.islice(timer, 10))


def verdict(value: float, limit: float) -> str:
    """Whether a measured value keeps within its limit, in a word for a report."""
    return "within" if value <= limit else "OVER"


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
    """What this machine has measured before, from benchmarks/results, so that one part of it can be measured again."""
    path = RESULTS / f"{name}.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    return stored if stored.pop("machine", None) == machine() else {}


def write(name: str, measured: Mapping[str, Any]) -> None:
    """Writes the measurements and the machine they were made on to benchmarks/results."""
    write_json(name, {"machine": machine(), **measured})


def write_json(name: str, values: Any) -> None:
    """Writes values to benchmarks/results as they are."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(values, indent=1) + "\n")


def markdown_table(headings: Sequence[str], alignment: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown. The alignment of each column is `---` for left or `---:` for right."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, alignment, *rows))
