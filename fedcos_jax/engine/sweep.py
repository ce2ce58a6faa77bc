"""Many runs as one compiled program: a grid of hyper-parameters, seeds and partitions.

A run is a pure function of its trial, so a sweep is a `vmap` of it over a batch of stacked trials. Batches are as large
as memory allows. Where a single run shares its clients among the devices, a sweep gives every device whole runs, which
never wait for each other.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import tree
from fedcos_jax.data.partition import require_rows
from fedcos_jax.engine import devices
from fedcos_jax.engine.compilation import program_memory
from fedcos_jax.engine.devices import DIVIDED, SAME, Placement
from fedcos_jax.engine.experiment import Experiment, as_arrays
from fedcos_jax.engine.loop import History, simulate
from fedcos_jax.engine.schedule import Schedule
from fedcos_jax.errors import InputError, require, require_at_least
from fedcos_jax.models import Model
from fedcos_jax.types import Array, ClientOptimizer, FederatedData, FederatedMethod

_MEMORY_SHARE = 0.8
"""The part of a device's free memory that a batch of runs may take."""


class Trial(NamedTuple):
    """What one run of a sweep has of its own. What is None is the experiment's."""

    key: Array
    method: FederatedMethod | None = None
    optimizer: ClientOptimizer | None = None
    indices: Array | np.ndarray | None = None
    """Who owns which rows, as in `FederatedData`."""
    offsets: Array | np.ndarray | None = None
    cohorts: Array | np.ndarray | None = None
    """Who takes part in which round, as in `FederatedData`."""
    test_owners: Array | np.ndarray | None = None
    """The client of each test row, as in `FederatedData`, for a trial with `indices` of its own."""


def grid(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of the axes' values.

    Example:
        >>> len(grid(lr=[0.1, 0.2], seed=range(3)))
        6
    """
    values = {name: list(axis) for name, axis in axes.items()}
    for name, axis in values.items():
        require(bool(axis), f"the axis {name} of the grid has no values")
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


def sweep(
    trial: Callable[..., Trial],
    points: Sequence[Mapping[str, Any]],
    experiment: Experiment,
    *,
    batch: int | None = None,
    memory: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> History:
    """The histories of all points, stacked: leaves [points, ...], on the host.

    Args:
        trial: (values of a point) -> its trial. All trials must have one structure; their numbers may differ.
        points: e.g. from `grid`.
        experiment: what all points share.
        batch: runs in one `vmap` on a device. None for as many as fit in memory, and on a CPU for one.
        memory: bytes that a batch may take of a device. None for most of what is free.
        progress: called with the number of points done, after every batch.

    Example:
        >>> trial = lambda strength, seed: fc.Trial(jax.random.key(seed), fc.fedcos(strength))
        >>> histories = fc.sweep(trial, fc.grid(strength=[0, 0.02], seed=range(3)), experiment)
    """
    done: list[History] = []
    for histories in in_batches([trial(**point) for point in points], experiment, batch=batch, memory=memory):
        done.append(histories)
        if progress is not None:
            progress(sum(len(part.evaluated) for part in done))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *done)


def in_batches(
    trials: Sequence[Trial], experiment: Experiment, *, batch: int | None = None, memory: int | None = None
) -> Iterator[History]:
    """`sweep`, yielding the histories of each batch when it is done, so that they can be kept on the way."""
    require(bool(trials), "a sweep needs at least one point")
    trials = _complete(trials, experiment)
    schedule, model = experiment.schedule, experiment.model
    placement = (schedule.placement or devices.available()).first(len(trials))
    schedule = dataclasses.replace(schedule, placement=placement.first(1))
    data = placement.replicate(experiment.data)
    if batch is None:
        batch = fitting_batch(_stacked(trials[:1]), data, model, schedule, memory)
    require_at_least(1, batch=batch)
    batch = min(batch, -(-len(trials) // placement.count))
    size = placement.count * batch
    for start in range(0, len(trials), size):
        rows = np.minimum(np.arange(start, start + size), len(trials) - 1)
        stacked = placement.split(_stacked([trials[row] for row in rows]))
        histories = _compiled_batch(stacked, data, model=model, schedule=schedule, placement=placement)
        real = min(size, len(trials) - start)
        yield jax.tree.map(lambda leaf, real=real: np.asarray(leaf)[:real], histories)


def fitting_batch(
    trial: Trial, data: FederatedData, model: Model, schedule: Schedule, memory: int | None = None
) -> int:
    """How many runs fit in the memory of a device, by the compiled program of one. On a CPU one is fastest."""
    device = devices.available(1)
    if memory is None:
        statistics = device.devices[0].memory_stats() or {}
        if "bytes_limit" not in statistics:
            return 1
        memory = int(_MEMORY_SHARE * (statistics["bytes_limit"] - statistics["bytes_in_use"]))
    one = _compiled_batch.lower(trial, data, model=model, schedule=schedule, placement=device).compile()
    taken = program_memory(one)
    if taken is None:
        raise InputError("this device does not tell how much memory it has: say how many runs to batch")
    return max(1, memory // max(1, taken.temporaries + taken.outputs))


@functools.partial(jax.jit, static_argnames=("model", "schedule", "placement"))
def _compiled_batch(
    trials: Trial, data: FederatedData, *, model: Model, schedule: Schedule, placement: Placement
) -> History:
    def one(data: FederatedData, trial: Trial) -> History:
        key, method, optimizer, indices, offsets, cohorts, owners = jax.tree.map(jnp.asarray, trial)
        owned = data._replace(indices=indices, offsets=offsets, cohorts=cohorts, test_owners=owners)
        experiment = Experiment(method=method, optimizer=optimizer, data=owned, model=model, schedule=schedule)
        return simulate(key, experiment)[1]

    def share(trials: Trial, data: FederatedData) -> History:
        return tree.map_rows(functools.partial(one, data), trials)

    return placement.on_each(share, (DIVIDED, SAME), DIVIDED)(trials, data)


def compiled_programs() -> int:
    """How many programs sweeps have compiled in this process."""
    return _compiled_batch._cache_size()  # type: ignore[attr-defined]


def _stacked(trials: Sequence[Trial]) -> Trial:
    """Trials as one, leaves [trials, ...]."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trials)


def _complete(trials: Sequence[Trial], experiment: Experiment) -> list[Trial]:
    """The trials with everything filled in, checked to be stackable. Ownerships stay on the host until then."""
    data = experiment.data
    complete = [
        Trial(
            trial.key,
            as_arrays(experiment.method if trial.method is None else trial.method),
            as_arrays(experiment.optimizer if trial.optimizer is None else trial.optimizer),
            data.indices if trial.indices is None else trial.indices,
            data.offsets if trial.offsets is None else trial.offsets,
            data.cohorts if trial.cohorts is None else trial.cohorts,
            data.test_owners if trial.indices is None else trial.test_owners,
        )
        for trial in trials
    ]
    if len({jax.tree.structure(trial) for trial in complete}) > 1:
        raise InputError(
            "the points of a sweep must share one structure: none cannot be mixed with numbers (0 is one), and methods "
            "must be of one form, as labels.alike gives them"
        )
    for trial in trials:
        if trial.offsets is not None:
            require_rows(np.asarray(trial.offsets))
    for shapes in zip(*(map(jnp.shape, jax.tree.leaves(trial)) for trial in complete), strict=True):
        require(len(set(shapes)) == 1, f"the points of a sweep differ in the shapes of their arrays: {set(shapes)}")
    return complete
