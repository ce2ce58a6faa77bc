"""Many configs as few compiled programs."""

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from fedcos_jax import data, labels
from fedcos_jax.data.dataset import test_owners
from fedcos_jax.engine.batches import Batches, Trial
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.loop import History, as_reports
from fedcos_jax.engine.watch import Watch
from fedcos_jax.runs.config import Config
from fedcos_jax.types import FederatedMethod

_SCENES = 32
"""How many divisions of a dataset among clients are kept at once. The seeds of a point usually fit."""

Load = Callable[[Config], data.Dataset]


class Finished(NamedTuple):
    """One of several configs that ran together."""

    config: Config
    history: History
    seconds: float
    """Its share of the time of its batch."""
    watch: Watch
    """The signs of divergence that it shows."""


class Together:
    """Configs in groups that share a program, checked before anything is compiled.

    Configs share a program if their settings of kind `shape` and the shapes of their data are equal and their methods
    and optimizers have one tree structure. Methods of the paper's tables do.

    Args:
        configs: what to run.
        load: (config) -> its dataset.
        batch: runs in one `vmap`, as in `sweep`.

    Attributes:
        clients: the number of clients of each config. Natural partitions bring their own.
    """

    def __init__(self, configs: Sequence[Config], load: Load, batch: int | None = None) -> None:
        self._load, self._batch = _remembered(load), batch
        self._method = _methods(configs)
        self._draws = functools.lru_cache(_SCENES)(lambda scene: scene.draws(self._load(scene)))
        self._open: dict[int, Batches] = {}
        self.clients: dict[Config, int] = {}
        groups: dict[Any, list[Config]] = {}
        shapes: dict[Config, tuple] = {}
        # One dataset is in memory at a time.
        for config in sorted(configs, key=_datasets(configs)):
            scene = _scene(config)
            if scene not in shapes:
                owner, cohorts = self._draws(scene)
                owners = test_owners(self._load(config), owner)
                shapes[scene] = (owner.num_clients, len(owner.indices), np.shape(cohorts), owners is not None)
            self.clients[config] = shapes[scene][0]
            structure = jax.tree.structure((self._method(config), config.optimizer()))
            program = (config.program, structure, shapes[scene])
            if program not in groups:
                config.architecture(self._load(config))
                config.schedule(self.clients[config])
            groups.setdefault(program, []).append(config)
        self._groups = list(groups.values())

    def programs(self, configs: Iterable[Config]) -> int:
        """How many programs these configs need."""
        wanted = set(configs)
        return sum(not wanted.isdisjoint(group) for group in self._groups)

    def run(self, configs: Iterable[Config], until: int | None = None) -> Iterator[list[Finished]]:
        """Runs some of the configs, one group after another, and yields each batch of runs when it is done.

        Args:
            configs: some of those given at first.
            until: rounds, at an evaluation. The runs go on from where the last call with `until` left them. Runs that
                a call leaves out start anew later. None for whole runs.
        """
        wanted = set(configs)
        for number, group in enumerate(self._groups):
            runs = [run for run, config in enumerate(group) if config in wanted]
            batches = self._open.pop(number, None)
            if not runs:
                continue
            if until is None:
                yield from self._advance(self._batches(group, keep=False), group, runs, group[0].rounds)
                continue
            batches = batches or self._batches(group, keep=True)
            batches.forget(set(range(len(group))).difference(runs))
            self._open[number] = batches
            yield from self._advance(batches, group, runs, until)

    def _batches(self, group: Sequence[Config], *, keep: bool) -> Batches:
        first = group[0]
        dataset, (ownership, cohorts) = self._load(first), self._draws(_scene(first))
        shared = Experiment(
            method=self._method(first),
            optimizer=first.optimizer(),
            data=data.federate(dataset, ownership, cohorts),
            model=first.architecture(dataset),
            schedule=first.schedule(ownership.num_clients),
        )
        return Batches(len(group), lambda run: self._trial(group[run]), shared, batch=self._batch, keep=keep)

    def _trial(self, config: Config) -> Trial:
        owner, cohorts = self._draws(_scene(config))
        key, owners = jax.random.key(config.seed), test_owners(self._load(config), owner)
        return Trial(key, self._method(config), config.optimizer(), owner.indices, owner.offsets, cohorts, owners)

    def _advance(
        self, batches: Batches, group: Sequence[Config], runs: Sequence[int], until: int
    ) -> Iterator[list[Finished]]:
        started = time.perf_counter()
        for histories in batches.advance(runs, until):
            seconds = (time.perf_counter() - started) / len(histories)
            yield [
                Finished(group[run], history, seconds, self._watched(batches.experiment, group[run], history))
                for run, history in histories.items()
            ]
            started = time.perf_counter()

    def _watched(self, shared: Experiment, config: Config, history: History) -> Watch:
        """A watch that has seen the whole history."""
        watch = Watch(shared.replace(method=self._method(config), optimizer=config.optimizer()), tell=False)
        for report in as_reports(history):
            watch(report)
        return watch


def run_together(configs: Sequence[Config], load: Load, batch: int | None = None) -> Iterator[list[Finished]]:
    """Runs configs in as few compiled programs as possible, and yields each batch of runs when it is done.

    Args:
        configs: what to run.
        load: (config) -> its dataset.
        batch: as in `sweep`.
    """
    yield from Together(configs, load, batch).run(configs)


def _scene(config: Config) -> Config:
    """The settings that the division of a dataset depends on. Configs with equal scenes have equal divisions."""
    names = ("dataset", "augment", "partition", "clients", "fraction", "replay", "rounds", "seed")
    return Config(**{name: getattr(config, name) for name in names})


def _methods(configs: Sequence[Config]) -> Callable[[Config], FederatedMethod]:
    """(config) -> its method. The methods of all configs have as few structures as possible."""
    kinds = list({(config.method, config.options): config for config in configs}.values())
    built = labels.alike([config.spec for config in kinds], [config.options for config in kinds])
    by_kind = {(config.method, config.options): method for config, method in zip(kinds, built, strict=True)}
    return lambda config: by_kind[config.method, config.options]


def _datasets(configs: Sequence[Config]) -> Callable[[Config], int]:
    """(config) -> the number of its dataset, in the order of the configs."""
    numbers: dict[tuple, int] = {}
    for config in configs:
        numbers.setdefault((config.dataset, config.augment), len(numbers))
    return lambda config: numbers[config.dataset, config.augment]


def _remembered(load: Load) -> Load:
    """The same function, which keeps the last dataset."""
    last: dict[tuple, data.Dataset] = {}

    def remembered(config: Config) -> data.Dataset:
        name = (config.dataset, config.augment)
        if name not in last:
            last.clear()
            last[name] = load(config)
        return last[name]

    return remembered
