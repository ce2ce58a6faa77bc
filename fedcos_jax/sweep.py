"""Many runs as one compiled program: a grid of hyper-parameters, seeds, partitions and methods of one structure.

A run is a pure function of its trial, so a sweep is a `vmap` of it over stacked trials, in chunks that fit in memory,
the chunks dealt out to the devices. Where a single run shares its clients among the devices, a sweep gives every device
whole runs, which never wait for each other.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import mesh, tree
from fedcos_jax.compilation import program_memory
from fedcos_jax.errors import InputError, require, require_at_least
from fedcos_jax.models import Model
from fedcos_jax.partition import require_rows
from fedcos_jax.schedule import Schedule
from fedcos_jax.simulate import History, as_arrays, simulate
from fedcos_jax.types import Array, ClientOptimizer, FederatedData, FederatedMethod

_MEMORY_SHARE = 0.8
"""Of a device's memory, what a chunk of runs may take."""


class Trial(NamedTuple):
    """What one run of a sweep may have of its own; everything else is shared."""

    key: Array
    method: FederatedMethod
    optimizer: ClientOptimizer
    indices: Array | np.ndarray | None = None
    """Who owns which rows, as in `FederatedData`; None for the data's own."""
    offsets: Array | np.ndarray | None = None


def grid(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of the axes' values: grid(lr=[0.1, 0.2], seed=range(3)) is six points."""
    values = {name: list(axis) for name, axis in axes.items()}
    for name, axis in values.items():
        require(bool(axis), f"the axis {name} of the grid has no values")
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


def sweep(
    trial: Callable[..., Trial],
    points: Sequence[Mapping[str, Any]],
    data: FederatedData,
    model: Model,
    schedule: Schedule,
    *,
    chunk: int | None = None,
    memory: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> History:
    """The histories of all points, stacked: leaves [points, ...], on the host.

    Args:
        trial: the values of a point -> its trial; all trials must have one structure, numbers may differ.
        points: e.g. from `grid`.
        data, model, schedule: as in `simulate`.
        chunk: runs in one `vmap` on a device; None for as many as fit in memory, on a CPU one.
        memory: bytes that a chunk may take of a device; None for most of what the device has.
        progress: called with the number of points done, after every chunk.
    """
    blocks: list[History] = []
    for block in in_blocks(trial, points, data, model, schedule, chunk=chunk, memory=memory):
        blocks.append(block)
        if progress is not None:
            progress(sum(len(done.evaluated) for done in blocks))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *blocks)


def in_blocks(
    trial: Callable[..., Trial],
    points: Sequence[Mapping[str, Any]],
    data: FederatedData,
    model: Model,
    schedule: Schedule,
    *,
    chunk: int | None = None,
    memory: int | None = None,
) -> Iterator[History]:
    """`sweep`, block by block as they are done: what to use when results should be kept on the way."""
    require(bool(points), "a sweep needs at least one point")
    trials = _complete([trial(**point) for point in points], data)
    schedule.shapes(data, model)
    devices = min(schedule.devices or jax.local_device_count(), len(points))
    schedule = dataclasses.replace(schedule, devices=1)
    data = mesh.replicate(data, devices)
    if chunk is None:
        chunk = fitting_chunk(_stacked(trials[:1]), data, model, schedule, memory)
    require_at_least(1, chunk=chunk)
    chunk = min(chunk, -(-len(points) // devices))
    for start in range(0, len(points), devices * chunk):
        rows = np.minimum(np.arange(start, start + devices * chunk), len(points) - 1)
        block = mesh.split(_stacked([trials[row] for row in rows]), devices)
        histories = _compiled_block(block, data, model=model, schedule=schedule, devices=devices)
        done = min(start + devices * chunk, len(points)) - start
        yield jax.tree.map(lambda leaf, done=done: np.asarray(leaf)[:done], histories)


def fitting_chunk(
    trials: Trial, data: FederatedData, model: Model, schedule: Schedule, memory: int | None = None
) -> int:
    """How many runs at once fit in the memory of a device, by the compiled program of one; on a CPU one is fastest."""
    if memory is None:
        statistics = jax.local_devices()[0].memory_stats() or {}
        if "bytes_limit" not in statistics:
            return 1
        memory = int(_MEMORY_SHARE * (statistics["bytes_limit"] - statistics["bytes_in_use"]))
    one = _compiled_block.lower(trials, data, model=model, schedule=schedule, devices=1).compile()
    taken = program_memory(one)
    if taken is None:
        raise InputError("this device tells nothing of memory: give the chunk of the sweep")
    return max(1, memory // max(1, taken.temporaries + taken.outputs))


@functools.partial(jax.jit, static_argnames=("model", "schedule", "devices"))
def _compiled_block(trials: Trial, data: FederatedData, *, model: Model, schedule: Schedule, devices: int) -> History:
    def one(data: FederatedData, trial: Trial) -> History:
        owned = data._replace(indices=jnp.asarray(trial.indices), offsets=jnp.asarray(trial.offsets))
        return simulate(trial.key, trial.method, trial.optimizer, owned, model, schedule)[1]

    def share(trials: Trial, data: FederatedData) -> History:
        return tree.map_rows(functools.partial(one, data), trials)

    return mesh.on_each(share, devices, (mesh.DIVIDED, mesh.SAME), mesh.DIVIDED)(trials, data)


def _stacked(trials: list[Trial]) -> Trial:
    """Trials as one, leaves [trials, ...]."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trials)


def _complete(trials: list[Trial], data: FederatedData) -> list[Trial]:
    """The trials with all that they have, checked to be stackable; who owns what stays where it is until then."""
    complete = [
        trial._replace(
            method=as_arrays(trial.method),
            optimizer=as_arrays(trial.optimizer),
            indices=data.indices if trial.indices is None else trial.indices,
            offsets=data.offsets if trial.offsets is None else trial.offsets,
        )
        for trial in trials
    ]
    if len({jax.tree.structure(trial) for trial in complete}) > 1:
        raise InputError(
            "the points of a sweep must share one structure: none cannot be mixed with numbers (0 is one), and methods "
            "must be of one form, as methods.in_paper_form gives them"
        )
    for trial in trials:
        if trial.offsets is not None:
            require_rows(np.asarray(trial.offsets))
    for shapes in zip(*(map(jnp.shape, jax.tree.leaves(trial)) for trial in complete), strict=True):
        require(len(set(shapes)) == 1, f"the points of a sweep differ in the shapes of their arrays: {set(shapes)}")
    return complete
