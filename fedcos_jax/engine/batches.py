"""Runs of one structure and of equal shapes, which one compiled program advances in batches.

A run is a pure function of its trial, so a batch is a `vmap` of it over stacked trials. Where a single run shares its
clients among the devices, every device has whole runs here, which never wait for each other. Runs can stop at an
evaluation and go on later in the same program. If a batch has one run, as on a CPU, the numbers are those of a run
without stops, bit for bit. Larger batches get smaller when few runs go on, and then round differently.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from fedcos_jax.engine.loop import History, advance
from fedcos_jax.engine.rounds import init_state
from fedcos_jax.engine.schedule import Schedule
from fedcos_jax.errors import InputError, require, require_at_least
from fedcos_jax.models import Model
from fedcos_jax.types import Array, ClientOptimizer, FederatedData, FederatedMethod, RoundState

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


class _Kept(NamedTuple):
    """A run that can go on: its state and its history so far, on the host."""

    completed: int
    state: RoundState
    history: History


class Batches:
    """Runs that share one program.

    Args:
        count: number of runs.
        trial: (place of a run) -> its trial. It is called when the batch of the run starts, so trials take no memory
            before and after.
        experiment: what all runs share.
        batch: runs in one `vmap` on a device. None for as many as fit in memory, and on a CPU for one.
        memory: bytes that a batch may take of a device. None for most of what is free.
        keep: keep the states of runs that stop early on the host, so that they can go on.
    """

    def __init__(
        self,
        count: int,
        trial: Callable[[int], Trial],
        experiment: Experiment,
        *,
        batch: int | None = None,
        memory: int | None = None,
        keep: bool = False,
    ) -> None:
        require(count > 0, "a sweep needs at least one point")
        self._count, self._make, self._experiment, self._keep = count, trial, experiment, keep
        self._kept: dict[int, _Kept] = {}
        self._placement = (experiment.schedule.placement or devices.available()).first(count)
        self._schedule = dataclasses.replace(experiment.schedule, placement=self._placement.first(1))
        self._like = self._complete(trial(0))
        self._data = self._placement.replicate(experiment.data)
        if batch is None:
            batch = fitting_batch(_stacked([self._like]), self._data, experiment.model, self._schedule, memory)
        require_at_least(1, batch=batch)
        self._batch = batch

    @property
    def experiment(self) -> Experiment:
        """What all runs share."""
        return self._experiment

    def check(self) -> None:
        """Makes every trial once, so that a mistake in one of them shows up before any run starts."""
        for place in range(self._count):
            self._trial(place)

    def advance(self, runs: Sequence[int], until: int) -> Iterator[dict[int, History]]:
        """Trains these runs until `until` rounds are completed, from where they are.

        Args:
            runs: places of the runs.
            until: rounds, at an evaluation.

        Yields:
            Per batch, the histories of its runs from the first round on, on the host.
        """
        by_round = sorted(runs, key=lambda run: (self._completed(run), run))
        for completed, same in itertools.groupby(by_round, self._completed):
            equal = list(same)
            size = self._placement.count * min(self._batch, -(-len(equal) // self._placement.count))
            for start in range(0, len(equal), size):
                yield self._run_batch(equal[start : start + size], size, completed, until)

    def _run_batch(self, runs: list[int], size: int, completed: int, until: int) -> dict[int, History]:
        """One batch of runs that have all completed equally many rounds. The last run fills it up to its size."""
        how = {"model": self._experiment.model, "schedule": self._schedule, "placement": self._placement}
        filled = runs + runs[-1:] * (size - len(runs))
        trials = self._placement.split(_stacked([self._trial(run) for run in filled]))
        if completed:
            states = self._placement.split(_stacked([self._kept[run].state for run in filled]))
        else:
            states = _compiled_start(trials, self._data, **how)
        states, histories = _compiled_batch(states, trials, self._data, jnp.int32(completed), jnp.int32(until), **how)
        histories = jax.device_get(histories)
        goes_on = self._keep and until < self._schedule.rounds
        states = jax.device_get(states) if goes_on else None
        found = {}
        for place, run in enumerate(runs):
            history = _between(tree.row(histories, place), completed, until)
            if completed:
                history = jax.tree.map(lambda *parts: np.concatenate(parts), self._kept[run].history, history)
            if goes_on:
                self._kept[run] = _Kept(until, tree.row(states, place), history)
            found[run] = history
        return found

    def forget(self, runs: Iterable[int]) -> None:
        """Frees the states of runs that do not go on."""
        for run in runs:
            self._kept.pop(run, None)

    def _completed(self, run: int) -> int:
        return self._kept[run].completed if run in self._kept else 0

    def _trial(self, place: int) -> Trial:
        """A trial with everything filled in, checked to be like the first one."""
        trial = self._complete(self._make(place))
        if len({jax.tree.structure(one) for one in (trial, self._like)}) > 1:
            raise InputError(
                "the points of a sweep must share one structure: none cannot be mixed with numbers (0 is one), and "
                "methods must be of one form, as labels.alike gives them"
            )
        for mine, first in zip(jax.tree.leaves(trial), jax.tree.leaves(self._like), strict=True):
            differ = {jnp.shape(first), jnp.shape(mine)}
            require(len(differ) == 1, f"the points of a sweep differ in the shapes of their arrays: {differ}")
        return trial

    def _complete(self, trial: Trial) -> Trial:
        experiment, data = self._experiment, self._experiment.data
        if trial.offsets is not None:
            require_rows(np.asarray(trial.offsets))
        return Trial(
            trial.key,
            as_arrays(experiment.method if trial.method is None else trial.method),
            as_arrays(experiment.optimizer if trial.optimizer is None else trial.optimizer),
            data.indices if trial.indices is None else trial.indices,
            data.offsets if trial.offsets is None else trial.offsets,
            data.cohorts if trial.cohorts is None else trial.cohorts,
            data.test_owners if trial.indices is None else trial.test_owners,
        )


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
    how = {"model": model, "schedule": schedule, "placement": device}
    state = jax.eval_shape(lambda: _compiled_start(trial, data, **how))
    rounds = jnp.int32(schedule.rounds)
    taken = program_memory(_compiled_batch.lower(state, trial, data, rounds, rounds, **how).compile())
    if taken is None:
        raise InputError("this device does not tell how much memory it has: say how many runs to batch")
    state_size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return max(1, memory // max(1, taken.temporaries + taken.outputs + state_size))


def _experiment(trial: Trial, data: FederatedData, model: Model, schedule: Schedule) -> Experiment:
    """What one run trains, with its trial's parts as traced arrays."""
    _, method, optimizer, indices, offsets, cohorts, owners = jax.tree.map(jnp.asarray, trial)
    owned = data._replace(indices=indices, offsets=offsets, cohorts=cohorts, test_owners=owners)
    return Experiment(method=method, optimizer=optimizer, data=owned, model=model, schedule=schedule)


def _unkeyed(state: RoundState) -> RoundState:
    """The state with its key as plain numbers, which lie on the devices and on the host like all others."""
    return state._replace(key=jax.random.key_data(state.key))


@functools.partial(jax.jit, static_argnames=("model", "schedule", "placement"))
def _compiled_start(
    trials: Trial, data: FederatedData, *, model: Model, schedule: Schedule, placement: Placement
) -> RoundState:
    """The states before the first round, leaves [runs, ...]."""

    def one(data: FederatedData, trial: Trial) -> RoundState:
        return _unkeyed(init_state(jnp.asarray(trial.key), _experiment(trial, data, model, schedule).federation))

    def share(trials: Trial, data: FederatedData) -> RoundState:
        return tree.map_rows(functools.partial(one, data), trials)

    return placement.on_each(share, (DIVIDED, SAME), DIVIDED)(trials, data)


@functools.partial(jax.jit, static_argnames=("model", "schedule", "placement"), donate_argnames=("states",))
def _compiled_batch(
    states: RoundState,
    trials: Trial,
    data: FederatedData,
    completed: Array,
    until: Array,
    *,
    model: Model,
    schedule: Schedule,
    placement: Placement,
) -> tuple[RoundState, History]:
    """The states after `until` rounds and the histories of the rounds between, leaves [runs, ...]."""

    def one(data: FederatedData, completed: Array, until: Array, state: RoundState, trial: Trial):
        # The runs of a batch share the number of their rounds. With one number per run, every condition on it would
        # become a selection under `vmap`.
        key = jax.random.wrap_key_data(state.key, impl=jax.random.key_impl(trial.key))
        shared = state._replace(round=completed, key=key)
        state, history = advance(shared, _experiment(trial, data, model, schedule).federation, schedule, until)
        return _unkeyed(state), history

    def share(states: RoundState, trials: Trial, data: FederatedData, completed: Array, until: Array):
        return tree.map_rows(functools.partial(one, data, completed, until), states, trials)

    on_all = placement.on_each(share, (DIVIDED, DIVIDED, SAME, SAME, SAME), (DIVIDED, DIVIDED))
    return on_all(states, trials, data, completed, until)


def compiled_programs() -> int:
    """How many programs sweeps have compiled in this process."""
    return _compiled_batch._cache_size()  # type: ignore[attr-defined]


def _stacked(trees: Sequence[Any]) -> Any:
    """Trees as one, leaves [trees, ...]."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _between(history: History, first: int, last: int) -> History:
    """The part of a whole run's history after `first` rounds and up to `last`."""
    inside = (history.evaluated > first) & (history.evaluated <= last)
    return History(
        history.evaluated[inside],
        jax.tree.map(lambda leaf: leaf[inside], history.evaluation),
        jax.tree.map(lambda leaf: leaf[first:last], history.rounds),
    )
