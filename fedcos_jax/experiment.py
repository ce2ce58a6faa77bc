"""A run described by plain values, and the plain values it results in: what the command line and the tables share."""

import dataclasses
import math
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from fedcos_jax import data, methods, models, optimizers, partition
from fedcos_jax.errors import require, require_at_least, require_known
from fedcos_jax.simulate import History, Progress, Schedule, fraction_of, run
from fedcos_jax.types import ClientOptimizer, FederatedMethod

LEARNING_RATE_SCHEDULES = ("constant", "exponential", "cosine")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides a run; the flags of `fedcos run` and the `config` of a result are these fields.

    Attributes:
        dataset, model, partition, method: names, see `fedcos list`.
        clients: number of clients (the `natural` partition brings its own).
        rounds: rounds of aggregation.
        local_steps: local steps of each client in a round.
        local_epochs: instead of local_steps, passes over the client's own rows.
        batch_size: rows of a local step.
        lr: client learning rate.
        lr_schedule: how it changes over rounds: constant, exponential (times lr_decay each round), cosine (to zero).
        lr_decay: factor a round of the exponential schedule.
        momentum, weight_decay: of the client optimizer.
        fraction: share of the clients that take part in a round.
        eval_every: rounds between evaluations.
        chunk: clients trained at once; None for all. Changes speed and memory, not results.
        seed: of partition, initial parameters, cohorts, data order and dropout.
        half_proximal: FedProx with the ½ of its own paper.
        damped_momentum: FedAvgM as m ← βm + (1-β)Δ instead of m ← βm + Δ.
        epsilon: under the root in the cosine penalty; 0 is the paper's, 1e-4 the authors' code's.
        before_server: the direction is the aggregated move before the server optimizer.
        uniform_weights: plain mean over the cohort instead of weights by data size.
    """

    dataset: str = "digits"
    model: str = "mlp"
    partition: str = "sorted"
    clients: int = 7
    method: str = "FedCos(0.02)"
    rounds: int = 20
    local_steps: int = 100
    local_epochs: int | None = None
    batch_size: int = 32
    lr: float = 0.01
    lr_schedule: str = "constant"
    lr_decay: float = 0.99
    momentum: float | None = None
    weight_decay: float | None = None
    fraction: float = 1.0
    eval_every: int = 1
    chunk: int | None = None
    seed: int = 0
    half_proximal: bool = False
    damped_momentum: bool = False
    epsilon: float = 0.0
    before_server: bool = False
    uniform_weights: bool = False

    @property
    def options(self) -> methods.Options:
        return methods.Options(**{name: getattr(self, name) for name in methods.Options._fields})

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
        )

    def optimizer(self) -> ClientOptimizer:
        """The client optimizer."""
        require_known(self.lr_schedule, LEARNING_RATE_SCHEDULES, "learning rate schedule")
        schedules = {
            "constant": optimizers.constant,
            "exponential": lambda: optimizers.exponential(self.lr_decay),
            "cosine": lambda: optimizers.cosine_decay(self.rounds),
        }
        schedule = schedules[self.lr_schedule]()
        return optimizers.client_sgd(
            self.lr, momentum=self.momentum, weight_decay=self.weight_decay, schedule=schedule
        )


MethodBuilder = Callable[[methods.MethodSpec, methods.Options], FederatedMethod]


def execute(
    config: Config,
    *,
    data_dir: str | None = None,
    progress: Progress | None = None,
    build: MethodBuilder = methods.MethodSpec.build,
) -> dict[str, Any]:
    """Runs a config and returns its result, ready for JSON.

    Args:
        config: what to run; checked before anything is computed.
        data_dir: where local datasets are; None for FEDCOS_DATA_DIR.
        progress: see `simulate.run`.
        build: makes the method from its label; `methods.in_paper_form` lets several labels share one program.
    """
    spec = methods.parse(config.method)
    method, optimizer = build(spec, config.options), config.optimizer()
    require_at_least(0, seed=config.seed)
    dataset = data.load(config.dataset, data_dir)
    model = models.build(config.model, dataset.input_shape, dataset.classes)
    ownership = partition.build(config.partition, dataset.train.y, config.clients, config.seed, dataset.groups)
    schedule = config.schedule(len(ownership.offsets) - 1)
    federated = data.federate(dataset, ownership)
    started = time.perf_counter()
    _, history = run(jax.random.key(config.seed), method, optimizer, federated, model, schedule, progress=progress)
    seconds = time.perf_counter() - started
    config = dataclasses.replace(config, method=spec.label, clients=federated.num_clients)
    return {
        **{name: getattr(config, name) for name in ("dataset", "model", "partition", "method", "seed", "rounds")},
        **summary(history),
        "seconds": round(seconds, 2),
        "history": history_lists(history),
        "config": dataclasses.asdict(config),
        "versions": versions(),
    }


def summary(history: History) -> dict[str, float]:
    """Accuracy in percent: of the last round, the best, and the mean of the last ten evaluations."""
    accuracy = 100 * np.asarray(history.evaluation.accuracy, np.float64)
    return {
        "last_accuracy": round(float(accuracy[-1]), 4),
        "best_accuracy": round(float(accuracy.max()), 4),
        "last10_accuracy": round(float(accuracy[-10:].mean()), 4),
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


def parse_value(name: str, text: str) -> Any:
    """Reads the text of a Config field as its type."""
    fields = {field.name: field for field in dataclasses.fields(Config)}
    require_known(name, fields, "setting")
    kind = str(fields[name].type)
    if text.lower() == "none":
        require("None" in kind, f"{name} needs a value")
        return None
    for type_name, read in (("bool", _read_bool), ("int", int), ("float", float)):
        if type_name in kind:
            try:
                return read(text)
            except ValueError:
                require(False, f"{name} must be of type {type_name}, got {text!r}")
    return text


def _read_bool(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else bool(int(text))
