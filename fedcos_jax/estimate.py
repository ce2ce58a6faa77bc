"""What a run will need, before it is run: parameters, memory and time, from its own compiled program."""

import time
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax.compilation import program_memory
from fedcos_jax.experiment import Experiment
from fedcos_jax.models import num_parameters
from fedcos_jax.schedule import Shapes
from fedcos_jax.simulate import compile_rounds, initial_state

TIMED_SECONDS = 4.0
"""About how long a timed piece of a round may take; longer rounds are timed by a few of their steps."""


class Estimate(NamedTuple):
    """What a run will need."""

    parameters: int
    dataset_bytes: int
    program_bytes: int | None
    """Of the compiled round and its arguments, the dataset included, on each device; None where nobody says."""
    devices: int
    compile_seconds: float
    round_seconds: float
    """With an evaluation."""
    rounds: int

    @property
    def seconds(self) -> float:
        """Of the whole run, evaluating after every round."""
        return self.compile_seconds + self.rounds * self.round_seconds

    def lines(self) -> list[str]:
        """For a reader."""
        dataset = _size(self.dataset_bytes)
        memory = f"{dataset} for the dataset; what the round needs is not known on this device"
        if self.program_bytes is not None:
            each = f" on each of {self.devices} devices" if self.devices > 1 else ""
            memory = f"{_size(self.program_bytes)} for the compiled round{each}, {dataset} of it the dataset"
        return [
            f"parameters     {self.parameters:,}",
            f"memory         {memory}",
            f"expected time  {_duration(self.seconds)}: {self.rounds:,} rounds of {self.round_seconds:.3g} s, "
            f"{self.compile_seconds:.1f} s to compile (an estimate from timing a part of one round)",
        ]


def estimate(experiment: Experiment) -> Estimate:
    """Compiles a round and times a part of it; nothing of it is kept."""
    shapes = experiment.schedule.shapes(experiment.data, experiment.model)
    # Before the whole round, so that the states of the two, with all clients' memories, are not there together.
    one_step = _seconds_of_steps(experiment, shapes, 1)
    started = time.perf_counter()
    program, arguments = _compile(experiment, shapes)
    compile_seconds = time.perf_counter() - started
    memory = program_memory(program)
    steps = float(jnp.mean(shapes.num_steps(experiment.data.sizes)))
    if one_step * steps <= TIMED_SECONDS:
        round_seconds = _seconds(program, arguments)
    else:
        del program, arguments
        round_seconds = _line(experiment, shapes, one_step, steps)
    return Estimate(
        parameters=num_parameters(experiment.model),
        dataset_bytes=sum(leaf.nbytes for leaf in jax.tree.leaves(experiment.data)),
        program_bytes=None if memory is None else sum(memory),
        devices=shapes.devices,
        compile_seconds=compile_seconds,
        round_seconds=round_seconds,
        rounds=experiment.schedule.rounds,
    )


def _compile(experiment: Experiment, shapes: Shapes) -> tuple[jax.stages.Compiled, tuple]:
    """One round and an evaluation, and what it is called with."""
    config, method, optimizer, data, model, _ = experiment
    state = initial_state(jax.random.key(config.seed), method, model, data.num_clients, shapes.devices)
    return compile_rounds(state, method, optimizer, data, model, shapes)


def _line(experiment: Experiment, shapes: Shapes, one_step: float, steps: float) -> float:
    """Seconds of a long round, by the line through those of one step and of a few."""
    few = max(2, int(TIMED_SECONDS / one_step))
    a_step = (_seconds_of_steps(experiment, shapes, few) - one_step) / (few - 1)
    return one_step + (steps - 1) * max(a_step, 0)


def _seconds_of_steps(experiment: Experiment, shapes: Shapes, steps: int) -> float:
    return _seconds(*_compile(experiment, shapes._replace(local_steps=steps, local_epochs=None)))


def _seconds(program: jax.stages.Compiled, arguments: tuple) -> float:
    """Of the quicker of two rounds: the first one warms up."""
    (state, *rest), times = arguments, []
    for _ in range(2):
        started = time.perf_counter()
        state, _ = jax.block_until_ready(program(state, *rest))
        times.append(time.perf_counter() - started)
    return min(times)


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
