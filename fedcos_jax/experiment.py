"""A run described by plain values, and the plain values it results in: what the command line and the tables share."""

import dataclasses
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from fedcos_jax import data, methods, models, optimizers, partition, replay, settings
from fedcos_jax.errors import require, require_known
from fedcos_jax.partition import Ownership
from fedcos_jax.schedule import Schedule, fraction_of
from fedcos_jax.settings import setting
from fedcos_jax.simulate import History, Progress, join, latest, stretches
from fedcos_jax.sweep import Trial, in_blocks
from fedcos_jax.types import ClientOptimizer, FederatedData, FederatedMethod

if TYPE_CHECKING:
    from fedcos_jax.checkpoint import Checkpoints

EVALUATED = ("accuracy", "test_loss")
"""Columns of a history with a value an evaluation; the others have one a round."""
_NUMBERS_ALONE = ("method", "partition", "seed", "lr")
"""Config fields on which no shape depends."""
SAME_NUMBERS = ("chunk", "devices")
"""Config fields on which no number depends."""
LEARNING_RATE_SCHEDULES = ("constant", "exponential", "cosine")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides a run: the flags of `fedcos run`, the `config` of a result, the settings of a table."""

    dataset: str = setting("digits", "scene", "dataset by name")
    model: str = setting("mlp", "scene", "model by name")
    partition: str = setting("sorted", "scene", "who owns which rows: sorted, mixed90, iid, shards2, dirichlet0.3, ...")
    clients: int = setting(7, "scene", "number of clients; the natural partition brings its own")
    fraction: float = setting(1.0, "scene", "share of the clients in a round, in (0, 1]")
    replay: int | None = setting(
        None, "scene", "initial parameters, shards and cohorts as the authors' code draws them from this seed (111)"
    )
    augment: bool = setting(
        True, "scene", "random crops and flips of training images where a dataset has them (default: on)"
    )

    rounds: int = setting(20, "schedule", "rounds of aggregation")
    local_steps: int = setting(50, "schedule", "local steps of a client in a round")
    local_epochs: int | None = setting(None, "schedule", "instead of local steps: passes over the client's own rows")
    batch_size: int = setting(32, "schedule", "rows of a local step")
    eval_every: int = setting(1, "schedule", "rounds between evaluations")
    chunk: int | None = setting(
        None, "schedule", "clients trained at once (default: what suits the model); results do not depend on it"
    )
    devices: int | None = setting(
        None, "schedule", "local devices that share a round (default: all); results do not depend on it"
    )
    seed: int = setting(0, "schedule", "of partition, initial parameters, cohorts, data order and dropout")

    lr: float = setting(0.05, "client optimizer", "learning rate")
    lr_schedule: str = setting("constant", "client optimizer", f"over rounds: {', '.join(LEARNING_RATE_SCHEDULES)}")
    lr_decay: float = setting(0.99, "client optimizer", "factor a round of the exponential schedule")
    momentum: float | None = setting(None, "client optimizer", "momentum inside a round")
    weight_decay: float | None = setting(None, "client optimizer", "multiple of the parameters added to the gradient")

    method: str = setting("FedCos(0.02)", "method", 'one of `fedcos list`, or a sum like "FedOpt(1.5)+FedCos(0.02)"')
    half_proximal: bool = setting(False, "method", "FedProx with the ½ of its own paper")
    damped_momentum: bool = setting(False, "method", "FedAvgM as m ← βm + (1-β)Δ instead of m ← βm + Δ")
    epsilon: float = setting(0.0, "method", "under the root of the cosine penalty; the authors' code has 1e-4")
    before_server: bool = setting(False, "method", "FedCos's direction from before the server optimizer")
    uniform_weights: bool = setting(False, "method", "plain mean over the cohort instead of weights by data size")

    @property
    def options(self) -> methods.Options:
        return methods.Options(**{name: getattr(self, name) for name in methods.Options._fields})

    @property
    def identity(self) -> dict[str, Any]:
        """What the numbers of a round depend on: no field of the machine, nor the rounds still to come."""
        free = SAME_NUMBERS if self.lr_schedule == "cosine" else (*SAME_NUMBERS, "rounds")
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in free}

    @property
    def program(self) -> tuple[Any, ...]:
        """The same for configs that one compiled program runs, if their methods have one structure."""
        return tuple(value for name, value in dataclasses.asdict(self).items() if name not in _NUMBERS_ALONE)

    def load(self, data_dir: str | None = None, source: str = "auto") -> data.Dataset:
        """The dataset."""
        dataset = data.load(self.dataset, source, data_dir)
        return dataset if self.augment else dataset.unaugmented()

    def draws(self, dataset: data.Dataset) -> tuple[Ownership, np.ndarray | None]:
        """Who owns which rows, and who takes part in which round, [rounds, cohort], or None if the key decides it."""
        if self.replay is None:
            return partition.build(self.partition, dataset.train.y, self.clients, self.seed, dataset.groups), None
        generator = replay.generator(self.replay)
        ownership = replay.ownership(generator, self.partition, dataset.train.y, self.clients, dataset.groups)
        cohort = fraction_of(ownership.num_clients, self.fraction)
        return ownership, replay.cohorts(generator, ownership.num_clients, cohort, self.rounds)

    def architecture(self, dataset: data.Dataset) -> models.Model:
        """The model."""
        model = models.build(self.model, dataset.input_shape, dataset.classes, dataset.input_dtype)
        if self.replay is None:
            return model
        return replay.started(model, self.replay, replay.WORDS_BEFORE.get(self.dataset, 0) * self.augment)

    def schedule(self, num_clients: int) -> Schedule:
        """The shapes of the run."""
        return Schedule(
            rounds=self.rounds,
            local_steps=self.local_steps,
            local_epochs=self.local_epochs,
            batch_size=self.batch_size,
            cohort=fraction_of(num_clients, self.fraction),
            eval_every=self.eval_every,
            chunk=self.chunk,
            devices=self.devices,
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


MethodBuilder = Callable[[methods.MethodSpec, methods.Options], FederatedMethod]


class Experiment(NamedTuple):
    """A checked config with everything it names, ready to run."""

    config: Config
    method: FederatedMethod
    optimizer: ClientOptimizer
    data: FederatedData
    model: models.Model
    schedule: Schedule


def prepare(
    config: Config,
    data_dir: str | None = None,
    build: MethodBuilder = methods.MethodSpec.build,
    *,
    source: str = "auto",
) -> Experiment:
    """Checks a config and loads what it names; nothing is compiled or trained yet.

    Args:
        config: what to run.
        data_dir: where local datasets are; None for FEDCOS_DATA_DIR.
        build: makes the method from its label; `methods.in_paper_form` lets several labels share one program.
        source: of the dataset, as in `data.load`.
    """
    spec = methods.parse(config.method)
    method, optimizer = build(spec, config.options), config.optimizer()
    dataset = config.load(data_dir, source)
    model = config.architecture(dataset)
    ownership, cohorts = config.draws(dataset)
    schedule = config.schedule(ownership.num_clients)
    config = dataclasses.replace(config, method=spec.label, clients=ownership.num_clients)
    federated = data.federate(dataset, ownership, cohorts)
    schedule.shapes(federated, model)
    return Experiment(config, method, optimizer, federated, model, schedule)


Watcher = Callable[[History], None]
"""Called on the host with the history of the rounds since the last call."""


def execute(
    experiment: Experiment,
    progress: Progress | None = None,
    watch: Watcher | None = None,
    checkpoints: "Checkpoints | None" = None,
) -> dict[str, Any]:
    """Runs an experiment and returns its result, ready for JSON.

    Args:
        experiment: what to run.
        progress: as in `simulate.run`.
        watch: called after each evaluation; it only looks on.
        checkpoints: of this run: it goes on from where they are, and is kept there.
    """
    config, histories = experiment.config, []
    started = time.perf_counter()
    advance = stretches if checkpoints is None else checkpoints.stretches
    for _, history in advance(jax.random.key(config.seed), *experiment[1:]):
        histories.append(history)
        if watch is not None:
            watch(history)
        if progress is not None:
            progress(*latest(history))
    seconds = time.perf_counter() - started if checkpoints is None else checkpoints.seconds
    return as_result(config, join(histories), seconds)


def run_together(
    configs: Sequence[Config], dataset: data.Dataset, build: MethodBuilder, chunk: int | None = None
) -> Iterator[list[History]]:
    """Runs configs of one `program` as one compiled sweep: their histories in order, block by block as they are done.

    Args:
        configs: what to run.
        dataset: of all of them.
        build: as in `prepare`; gives all their methods one structure.
        chunk: as in `sweep`.
    """
    drawn: dict[tuple[str, int], tuple[Ownership, np.ndarray | None]] = {}
    for config in configs:
        scene = (config.partition, config.seed)
        if scene not in drawn:
            drawn[scene] = config.draws(dataset)

    def trial(config: Config) -> Trial:
        owner, _ = drawn[config.partition, config.seed]
        method = build(methods.parse(config.method), config.options)
        return Trial(jax.random.key(config.seed), method, config.optimizer(), owner.indices, owner.offsets)

    first = configs[0]
    ownership, cohorts = drawn[first.partition, first.seed]
    model = first.architecture(dataset)
    schedule = first.schedule(ownership.num_clients)
    points = [{"config": config} for config in configs]
    federated = data.federate(dataset, ownership, cohorts)
    for block in in_blocks(trial, points, federated, model, schedule, chunk=chunk):
        yield [jax.tree.map(lambda leaf, row=row: leaf[row], block) for row in range(len(block.evaluated))]


def as_result(config: Config, history: History, seconds: float) -> dict[str, Any]:
    """What is left of a run, ready for JSON."""
    return {
        **{name: getattr(config, name) for name in ("dataset", "model", "partition", "method", "seed", "rounds")},
        **summary(history),
        "seconds": round(seconds, 2),
        "history": history_lists(history),
        "config": dataclasses.asdict(config),
        "versions": versions(),
    }


def summary(history: History) -> dict[str, float]:
    """Accuracy in percent: of the last round, the best, and the mean over what was evaluated in the last ten rounds."""
    accuracy = 100 * np.asarray(history.evaluation.accuracy, np.float64)
    last_ten = np.asarray(history.evaluated) > history.evaluated[-1] - 10
    return {
        "last_accuracy": round(float(accuracy[-1]), 4),
        "best_accuracy": round(float(accuracy.max()), 4),
        "last10_accuracy": round(float(accuracy[last_ten].mean()), 4),
    }


def history_lists(history: History) -> dict[str, list]:
    """The history as lists: `round`, `accuracy` (percent) and `test_loss` an evaluation, the rest a round."""
    columns = {
        "accuracy": 100 * history.evaluation.accuracy,
        "test_loss": history.evaluation.loss,
        **history.rounds._asdict(),
    }
    return {"round": history.evaluated.tolist()} | {name: _numbers(column) for name, column in columns.items()}


def _numbers(column: np.ndarray) -> list[float | None]:
    """Six significant digits; None for what is not a number, which JSON does not know."""
    return [float(f"{x:.6g}") if math.isfinite(x) else None for x in column.tolist()]


def versions() -> dict[str, str]:
    """What the run was made with."""
    packages = ("fedcos-jax", "jax", "jaxlib", "flax", "optax", "numpy")
    device = jax.devices()[0]
    return {
        **{name: version(name) for name in packages},
        "python": platform.python_version(),
        "device": f"{device.platform} ({device.device_kind})",
    }


def from_text(texts: dict[str, str]) -> dict[str, Any]:
    """Config fields given as text, each read as its type."""
    return settings.from_text(Config, texts)
