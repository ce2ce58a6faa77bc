"""A run described by plain values: the flags of `fedcos run`, the `config` of a result, the settings of a table."""

import dataclasses
from typing import Any

import numpy as np

from fedcos_jax import data, labels, models, optimizers, penalties
from fedcos_jax.data import partition
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine import devices
from fedcos_jax.engine.schedule import Schedule, fraction_of
from fedcos_jax.errors import require, require_known
from fedcos_jax.runs import parameters, replay
from fedcos_jax.runs.settings import of_kind, setting
from fedcos_jax.types import ClientOptimizer

LEARNING_RATE_SCHEDULES = ("constant", "exponential", "cosine")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides a run, as plain values.

    Each field declares its kind once. Which configs share a program, what makes a run another run, and what a sweep can
    vary all follow from the kinds.
    """

    dataset: str = setting("digits", "scene", "dataset by name", "shape")
    model: str = setting("mlp", "scene", "model by name", "shape")
    partition: str = setting(
        "sorted", "scene", "who owns which rows: sorted, mixed90, iid, shards2, dirichlet0.3, ...", "number"
    )
    clients: int = setting(7, "scene", "number of clients; the natural partition brings its own", "shape")
    fraction: float = setting(1.0, "scene", "share of the clients per round, in (0, 1]", "shape")
    replay: int | None = setting(
        None,
        "scene",
        "draw initial parameters, shards and cohorts as the authors' code does from this seed (111)",
        "shape",
    )
    start_from: str | None = setting(
        None, "scene", "start from the parameters in this file, which --save has written", also="--from"
    )
    start_checksum: str | None = setting(
        None, "scene", "SHA-256 of these parameters, which the saved config has to tell that they are the same", "shape"
    )
    augment: bool = setting(
        True, "scene", "random crops and flips of training images where a dataset has them (default: on)", "shape"
    )

    rounds: int = setting(20, "schedule", "rounds of aggregation", "shape")
    local_steps: int = setting(50, "schedule", "local steps per client and round", "shape")
    local_epochs: int | None = setting(
        None, "schedule", "passes over the client's own rows, instead of local steps", "shape"
    )
    batch_size: int = setting(32, "schedule", "rows per local step", "shape")
    eval_every: int = setting(1, "schedule", "rounds between evaluations", "shape")
    per_client: bool = setting(
        False, "schedule", "also record mean, standard deviation and worst decile of accuracy over the clients", "shape"
    )
    chunk: int | None = setting(
        None, "schedule", "clients trained at once (default: what suits the model); results do not depend on it"
    )
    devices: int | None = setting(
        None, "schedule", "devices that share a round (default: all); results do not depend on it"
    )
    seed: int = setting(
        0, "schedule", "seed of partition, initial parameters, cohorts, data order and dropout", "number"
    )

    lr: float = setting(0.05, "client optimizer", "learning rate", "number")
    lr_schedule: str = setting(
        "constant", "client optimizer", f"learning rate over rounds: {', '.join(LEARNING_RATE_SCHEDULES)}", "shape"
    )
    lr_decay: float = setting(0.99, "client optimizer", "factor per round of the exponential schedule", "number")
    momentum: float | None = setting(None, "client optimizer", "momentum inside a round", "number")
    weight_decay: float | None = setting(
        None, "client optimizer", "multiple of the parameters added to the gradient", "number"
    )

    method: str = setting(
        "FedCos(0.02)", "method", 'one of `fedcos list`, or a sum like "FedOpt(1.5)+FedCos(0.02)"', "number"
    )
    half_proximal: bool = setting(False, "method", "FedProx with the ½ of its own paper", "shape")
    damped_momentum: bool = setting(False, "method", "FedAvgM as m ← βm + (1-β)Δ instead of m ← βm + Δ", "shape")
    epsilon: float = setting(
        penalties.EPSILON, "method", "added under the root of the cosine penalty; the paper's formula has 0", "number"
    )
    before_server: bool = setting(False, "method", "FedCos's direction from before the server optimizer", "shape")
    uniform_weights: bool = setting(
        False, "method", "plain mean over the cohort instead of weights by data size", "shape"
    )

    @property
    def options(self) -> labels.Options:
        """The choices between the paper and its authors' code."""
        return labels.Options(**{name: getattr(self, name) for name in labels.Options._fields})

    @property
    def spec(self) -> labels.MethodSpec:
        """The method, parsed."""
        return labels.parse(self.method)

    @property
    def results(self) -> dict[str, Any]:
        """The settings that results depend on: all but those of the machine."""
        return {name: getattr(self, name) for name in of_kind(Config, "shape", "number")}

    @property
    def identity(self) -> dict[str, Any]:
        """What makes a run this run and not another one. A run with more rounds is the same run, continued."""
        free = () if self.lr_schedule == "cosine" else ("rounds",)
        return {name: value for name, value in self.results.items() if name not in free}

    @property
    def program(self) -> tuple[Any, ...]:
        """Equal for configs that one compiled program can run, if their methods and optimizers share a structure."""
        return tuple(getattr(self, name) for name in of_kind(Config, "shape", "machine"))

    def pinned(self) -> "Config":
        """The config with the checksum of the parameters that it starts from. They must be those that it names."""
        if self.start_from is None:
            require(self.start_checksum is None, "start_checksum needs start_from, the file with these parameters")
            return self
        require(self.replay is None, "start_from and replay both give the initial parameters: give one of them")
        found = models.checksum(parameters.load_params(self.start_from))
        same = self.start_checksum in (None, found)
        require(same, f"{self.start_from} does not hold the parameters that the config names by its start_checksum")
        return dataclasses.replace(self, start_checksum=found)

    def load(self, data_dir: str | None = None, source: str = "auto") -> data.Dataset:
        """The dataset."""
        dataset = data.load(self.dataset, source, data_dir)
        return dataset if self.augment else dataset.unaugmented()

    def draws(self, dataset: data.Dataset) -> tuple[Ownership, np.ndarray | None]:
        """Who owns which rows, and who takes part in which round [rounds, cohort] (None: the key decides)."""
        # A natural partition brings its own number of clients. The default is not a wish for another one.
        free = self.partition == "natural" and self.clients == Config.clients
        clients = None if free else self.clients
        if self.replay is None:
            return partition.build(self.partition, dataset.train.y, clients, self.seed, dataset.groups), None
        generator = replay.generator(self.replay)
        ownership = replay.ownership(generator, self.partition, dataset.train.y, clients, dataset.groups)
        cohort = fraction_of(ownership.num_clients, self.fraction)
        return ownership, replay.cohorts(generator, ownership.num_clients, cohort, self.rounds)

    def architecture(self, dataset: data.Dataset) -> models.Model:
        """The model."""
        model = models.build(self.model, dataset.input_shape, dataset.classes, dataset.input_dtype)
        if self.start_from is not None:
            return models.started_from(model, parameters.load_params(self.start_from, model))
        if self.replay is None:
            return model
        return replay.started(model, self.replay, replay.WORDS_BEFORE.get(self.dataset, 0) * self.augment)

    def schedule(self, num_clients: int) -> Schedule:
        """How long the run is and how it is divided."""
        return Schedule(
            rounds=self.rounds,
            local_steps=self.local_steps,
            local_epochs=self.local_epochs,
            batch_size=self.batch_size,
            cohort=fraction_of(num_clients, self.fraction),
            eval_every=self.eval_every,
            chunk=self.chunk,
            per_client=self.per_client,
            placement=devices.available(self.devices),
        )

    def optimizer(self) -> ClientOptimizer:
        """The client optimizer."""
        require_known(self.lr_schedule, LEARNING_RATE_SCHEDULES, "learning rate schedule")
        known = self.lr_decay == Config.lr_decay or self.lr_schedule == "exponential"
        require(known, f"lr_decay is the number of lr_schedule exponential, but the schedule is {self.lr_schedule}")
        schedules = {
            "constant": optimizers.constant,
            "exponential": lambda: optimizers.exponential(self.lr_decay),
            "cosine": lambda: optimizers.cosine_decay(self.rounds),
        }
        schedule = schedules[self.lr_schedule]()
        return optimizers.client_sgd(self.lr, momentum=self.momentum, weight_decay=self.weight_decay, schedule=schedule)
