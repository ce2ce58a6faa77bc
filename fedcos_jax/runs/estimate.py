"""What a run will need: its parameters, memory and time, estimated from its own compiled program."""

import dataclasses
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax.engine.compilation import program_memory
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.loop import compile_segment
from fedcos_jax.models import num_parameters
from fedcos_jax.runs.prepare import Prepared

TIMED_SECONDS = 4.0
"""A round that takes longer than this is timed by a few of its steps."""


class Estimate(NamedTuple):
    """What a run will need."""

    parameters: int
    dataset_bytes: int
    program_bytes: int | None
    """Memory of the compiled round and its arguments, with the dataset, on each device. None if it is not known."""
    devices: int
    compile_seconds: float
    round_seconds: float
    """Time of one round with an evaluation."""
    rounds: int

    @property
    def seconds(self) -> float:
        """Time of the whole run with an evaluation after every round."""
        return self.compile_seconds + self.rounds * self.round_seconds

    def lines(self) -> list[str]:
        """The estimate as lines of text."""
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


def estimate(prepared: Prepared) -> Estimate:
    """Compiles a round and times a part of it. What it trains is not kept."""
    experiment = prepared.experiment
    shapes, data = experiment.federation.shapes, experiment.data
    # One step is timed before the whole round is compiled. Their states, which have all client memories, are then never
    # in memory together.
    one_step = _seconds_of_steps(experiment, 1)
    started = time.perf_counter()
    program, arguments = compile_segment(jax.random.key(0), experiment)
    compile_seconds = time.perf_counter() - started
    memory = program_memory(program)
    steps = float(jnp.mean(shapes.num_steps(data.sizes)))
    if one_step * steps <= TIMED_SECONDS:
        round_seconds = _seconds(program, arguments)
    else:
        del program, arguments
        round_seconds = _line(experiment, one_step, steps)
    return Estimate(
        parameters=num_parameters(experiment.model),
        dataset_bytes=sum(leaf.nbytes for leaf in jax.tree.leaves(data)),
        program_bytes=None if memory is None else sum(memory),
        devices=shapes.placement.count,
        compile_seconds=compile_seconds,
        round_seconds=round_seconds,
        rounds=experiment.schedule.rounds,
    )


def _line(experiment: Experiment, one_step: float, steps: float) -> float:
    """Seconds of a long round, from the straight line through the times of one step and of a few steps."""
    few = max(2, int(TIMED_SECONDS / one_step))
    per_step = (_seconds_of_steps(experiment, few) - one_step) / (few - 1)
    return one_step + (steps - 1) * max(per_step, 0)


def _seconds_of_steps(experiment: Experiment, steps: int) -> float:
    shorter = dataclasses.replace(experiment.schedule, local_steps=steps, local_epochs=None)
    return _seconds(*compile_segment(jax.random.key(0), experiment.replace(schedule=shorter)))


def _seconds(program: jax.stages.Compiled, arguments: tuple) -> float:
    """Seconds of one round with an evaluation. It is the quicker of two, because the first one warms up."""
    (state, federation, *_), times = arguments, []
    for round in range(2):
        started = time.perf_counter()
        state, *_ = jax.block_until_ready(program(state, federation, jnp.int32(round + 1), jnp.array(True)))
        times.append(time.perf_counter() - started)
    return min(times)


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
