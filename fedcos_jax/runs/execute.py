"""Running configs: one, with callbacks and checkpoints, or many as few compiled programs."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from fedcos_jax import data, labels
from fedcos_jax.data.dataset import test_owners
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine.callbacks import Callback
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.loop import History, run
from fedcos_jax.engine.sweep import Trial, in_batches
from fedcos_jax.engine.watch import Watch
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.prepare import Prepared
from fedcos_jax.runs.result import as_result
from fedcos_jax.types import FederatedMethod

if TYPE_CHECKING:
    from fedcos_jax.runs.checkpoint import Checkpoints


def execute(
    prepared: Prepared,
    callbacks: Sequence[Callback] = (),
    checkpoints: "Checkpoints | None" = None,
    *,
    stop_on_divergence: bool = False,
) -> dict[str, Any]:
    """Runs a prepared config and returns its result, ready for JSON. A sign of divergence is a DivergenceWarning too.

    Args:
        prepared: what to run.
        callbacks: as in `run`. If the run goes on from a checkpoint, they are first told what it holds.
        checkpoints: of this run. The run goes on from there and is kept there.
        stop_on_divergence: whether to end the run at the first sign of divergence.
    """
    config, experiment = prepared
    key, watch = jax.random.key(config.seed), Watch(experiment, stop=stop_on_divergence)
    callbacks = (*callbacks, watch)
    if checkpoints is not None:
        history = checkpoints.run(key, experiment, callbacks)
        return as_result(config, history, checkpoints.seconds, watch)
    started = time.perf_counter()
    _, history = run(key, experiment, callbacks=callbacks, watch=False)
    return as_result(config, history, time.perf_counter() - started, watch)


class Finished(NamedTuple):
    """One of several configs that ran together."""

    config: Config
    history: History
    seconds: float
    """Its share of the time of its batch."""


def run_together(
    configs: Sequence[Config], dataset: data.Dataset, batch: int | None = None
) -> Iterator[list[Finished]]:
    """Runs configs in as few compiled programs as possible, and yields each batch of runs when it is done.

    Configs share a program if their settings of kind `shape` are equal and their methods and optimizers have one tree
    structure. Methods of the paper's tables do.

    Args:
        configs: what to run, on one dataset.
        dataset: of all of them.
        batch: as in `sweep`.
    """
    methods = labels.alike([config.spec for config in configs], [config.options for config in configs])
    groups: dict[Any, list[tuple[Config, FederatedMethod]]] = {}
    for config, method in zip(configs, methods, strict=True):
        # Only natural clients may own test rows.
        structure = jax.tree.structure((method, config.optimizer())), config.partition == "natural"
        groups.setdefault((config.program, structure), []).append((config, method))
    for group in groups.values():
        yield from _run_group(group, dataset, batch)


def _run_group(
    group: Sequence[tuple[Config, FederatedMethod]], dataset: data.Dataset, batch: int | None
) -> Iterator[list[Finished]]:
    drawn: dict[tuple[str, int], tuple[Ownership, np.ndarray | None]] = {}
    trials = []
    for config, method in group:
        scene = (config.partition, config.seed)
        if scene not in drawn:
            drawn[scene] = config.draws(dataset)
        owner, cohorts = drawn[scene]
        key = jax.random.key(config.seed)
        owners = test_owners(dataset, owner)
        trials.append(Trial(key, method, config.optimizer(), owner.indices, owner.offsets, cohorts, owners))
    first, method = group[0]
    ownership, cohorts = drawn[first.partition, first.seed]
    shared = Experiment(
        method=method,
        optimizer=first.optimizer(),
        data=data.federate(dataset, ownership, cohorts),
        model=first.architecture(dataset),
        schedule=first.schedule(ownership.num_clients),
    )
    waiting, started = iter(group), time.perf_counter()
    for histories in in_batches(trials, shared, batch=batch):
        count = len(histories.evaluated)
        seconds = (time.perf_counter() - started) / count
        yield [
            Finished(next(waiting)[0], jax.tree.map(lambda leaf, row=row: leaf[row], histories), seconds)
            for row in range(count)
        ]
        started = time.perf_counter()
