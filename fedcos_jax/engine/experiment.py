"""An experiment: the method, the client optimizer, the data, the model and the schedule, as one value."""

import dataclasses
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax
from jax.tree_util import Partial

from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.engine.schedule import Schedule, Shapes
from fedcos_jax.errors import require
from fedcos_jax.models import Model
from fedcos_jax.types import ClientOptimizer, FederatedData, FederatedMethod

Tree = TypeVar("Tree")

CLIENTS = "client_"
"""How the names of values begin that say how a metric differs between clients."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Federation:
    """What one round needs: a pytree whose arrays are traced and whose model and shapes are static."""

    method: FederatedMethod
    optimizer: ClientOptimizer
    data: FederatedData
    model: Model = dataclasses.field(metadata={"static": True})
    shapes: Shapes = dataclasses.field(metadata={"static": True})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything that decides a run except its key.

    Attributes:
        method: e.g. `fc.fedcos(0.02)`. Its numbers may be traced.
        optimizer: of the clients, e.g. `fc.client_sgd(0.05)`. Its numbers may be traced.
        data: the dataset and who owns which rows, from `fc.federate`.
        model: e.g. from `fc.models.build` or `fc.from_flax`.
        schedule: how long and in what pieces.
        federation: all of it as one round needs it, checked and with numbers as arrays.

    Example:
        >>> other = experiment.replace(method=fc.fedavg())
    """

    method: FederatedMethod
    optimizer: ClientOptimizer
    data: FederatedData
    model: Model
    schedule: Schedule
    federation: Federation = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_names(self.model)
        if self.schedule.per_client:
            require_groups(self.data)
        shapes = self.schedule.shapes(self.data, self.model)
        parts = as_arrays(self.method), as_arrays(self.optimizer), self.data, self.model
        object.__setattr__(self, "federation", Federation(*parts, shapes))

    def replace(self, **changes: Any) -> "Experiment":
        """The same experiment with some parts replaced."""
        return dataclasses.replace(self, **changes)


def require_names(model: Model) -> None:
    """Raises InputError unless the names of the metrics can be columns of a history."""
    names = [metric.name for metric in model.metrics]
    taken = {"round", "loss", "test_loss", "shares", "errors", "metrics", "columns", *RoundInfo._fields}
    for name in names:
        free = name.isidentifier() and name not in taken and not name.startswith((CLIENTS, "_"))
        require(free, f"a metric cannot be called {name!r}: take a word that is no column of a history yet")
        require(names.count(name) == 1, f"two metrics are called {name!r}")


def require_groups(data: FederatedData) -> None:
    """Raises InputError unless the data says which test rows are like those of a client."""
    require(
        data.test_owners is not None or data.class_rows is not None,
        "per-client evaluation needs labels that are classes, or test rows with owners: give test_groups to "
        "fc.from_arrays and take the partition natural",
    )


def as_arrays(method: Tree) -> Tree:
    """Numbers as arrays of the default float type, so that 1, 1.0 and an array share one compiled program.

    A plain function becomes a static part. It works, but a new function object compiles anew.
    """

    for part in jax.tree.leaves(method, is_leaf=_is_transformation):
        advice = "optimizer=lambda round, client: optax.adam(0.01), or server=lambda: optax.adam(0.01)"
        require(not _is_transformation(part), f"an optax transformation must be inside a function, like {advice}")

    def as_array(leaf: Any) -> Any:
        if callable(leaf):
            return Partial(leaf)
        advice = "put it inside a function, like server=lambda: optax.sgd(0.1, nesterov=True)"
        require(not isinstance(leaf, bool | str), f"{leaf!r} cannot be a number of a method or optimizer: {advice}")
        return jnp.asarray(leaf, jnp.result_type(float))

    return jax.tree.map(as_array, method)


def _is_transformation(part: Any) -> bool:
    return isinstance(part, optax.GradientTransformation)
