"""The global model on the test set: its loss, its metrics by name, and how they differ between clients.

The metrics of a client are means over its test rows, if test rows have owners. Otherwise, if labels are classes, they
follow from the client's label counts: with the share p_i(c) of class c among its training rows,

    metric_i = Σ_c p_i(c) · metric(test rows of class c),

which is what a test set with the client's own mix of labels would give. Classes without test rows are left out.
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import tree
from fedcos_jax.engine.devices import SAME
from fedcos_jax.engine.experiment import CLIENTS, Experiment, Federation, require_groups
from fedcos_jax.models import Metric, Model, losses
from fedcos_jax.models.start import fitted
from fedcos_jax.types import Array, FederatedData, Params

Sums: TypeAlias = dict[str, tuple[Array, Any]]
"""By name: Σ weight · value and Σ weight. None instead of the weights if every row counts once."""

LOSS = "loss"


class Evaluation(NamedTuple):
    """The global model on the test set. Each metric is also an attribute, like `evaluation.accuracy`."""

    loss: Array
    """Mean loss over the test rows."""
    shares: dict[str, Array]
    """Metrics in [0, 1] whose highest value is best, by name."""
    errors: dict[str, Array]
    """The other metrics, whose lowest value is best, by name."""

    @property
    def metrics(self) -> dict[str, Array]:
        """All metrics by name."""
        return {**self.shares, **self.errors}

    def columns(self) -> dict[str, Array]:
        """What files and logs show: shares in percent, then the other metrics, then `test_loss`."""
        return {name: 100 * value for name, value in self.shares.items()} | self.errors | {"test_loss": self.loss}

    def __getattr__(self, name: str) -> Any:
        """The metric of this name."""
        if name not in self.metrics:
            raise AttributeError(f"the evaluation has no {name!r}, it has {', '.join([LOSS, *self.metrics])}")
        return self.metrics[name]


def column_names(experiment: Experiment) -> tuple[str, ...]:
    """The names of `Evaluation.columns`, before there is an evaluation."""
    names = _names(experiment.model, per_client=experiment.schedule.per_client)
    return (*(name for name in sorted(names) if names[name]), *(n for n in sorted(names) if not names[n]), "test_loss")


def _names(model: Model, *, per_client: bool) -> dict[str, bool]:
    """The name of each value of an evaluation except the loss, and whether it is a share."""
    plain = {metric.name: metric.share for metric in model.metrics}
    spread = {name: metric.share for metric in model.metrics for name in statistics_names(metric)}
    return plain | spread if per_client else plain


def statistics_names(metric: Metric) -> tuple[str, str, str]:
    """The names of a metric's mean, standard deviation and worst decile over clients."""
    name = f"{CLIENTS}{metric.name}"
    return f"{name}_mean", f"{name}_std", f"{name}_{'p10' if metric.share else 'p90'}"


def of_clients(name: str) -> bool:
    """Whether a column of this name says how a metric differs between clients."""
    return name.startswith(CLIENTS)


class Score(NamedTuple):
    """The number by which a model is judged: its first metric, or its test loss if it has none."""

    name: str
    value: float
    share: bool

    @property
    def goodness(self) -> float:
        """A number of which more is better."""
        return self.value if self.share else -self.value

    def __str__(self) -> str:
        value = 100 * self.value if self.share else self.value
        return f"{self.name.replace('_', ' ')} {written(value, share=self.share)}"


def score(evaluation: Evaluation) -> Score:
    """The score of one evaluation."""
    name = next(iter(metric_names(evaluation)), "test_loss")
    share = name in evaluation.shares
    value = evaluation.loss if name == "test_loss" else evaluation.metrics[name]
    return Score(name, float(value), share)


def metric_names(evaluation: Evaluation) -> list[str]:
    """The metrics of the model, `accuracy` first. What is said of clients is left out."""
    names = [name for name in (*evaluation.shares, *evaluation.errors) if not of_clients(name)]
    return sorted(names, key=lambda name: name != "accuracy")


def written(value: float, *, share: bool) -> str:
    """A metric as a reader sees it. A share is given in percent."""
    return f"{value:.2f}%" if share else f"{value:.4g}"


def evaluate(params: Params, federation: Federation) -> Evaluation:
    """The loss and the metrics over all test rows, in batches that the devices share."""
    data, model, per_client = federation.data, federation.model, federation.shapes.per_client
    whole, grouped = _test_sums(params, federation, by_group=per_client)
    rows = data.test.y.shape[0]
    means = {name: total / (rows if weight is None else weight) for name, (total, weight) in whole.items()}
    found = {metric.name: metric.finished(means[metric.name]) for metric in model.metrics}
    if per_client:
        clients = _client_values(grouped, model, data)
        for metric in model.metrics:
            found |= zip(statistics_names(metric), _statistics(clients[metric.name], metric), strict=True)
    names = _names(model, per_client=per_client)
    shares = {name: value for name, value in found.items() if names[name]}
    return Evaluation(means[LOSS], shares, {name: value for name, value in found.items() if not names[name]})


def per_client(params: Params, experiment: Experiment) -> dict[str, np.ndarray]:
    """The loss and each metric of every client, [clients]. A client without test rows has NaN.

    Args:
        params: of the experiment's model, like `state.params`.
        experiment: its data says which test rows are whose, or which classes are.

    Example:
        >>> accuracy = fc.per_client(state.params, experiment)["accuracy"]
        >>> by_name = dict(zip(dataset.client_names, accuracy))
    """
    require_groups(experiment.data)
    placement = experiment.federation.shapes.placement
    params = fitted(params, experiment.model)
    return jax.device_get(_compiled_per_client(*placement.replicate((params, experiment.federation))))


@jax.jit
def _compiled_per_client(params: Params, federation: Federation) -> dict[str, Array]:
    def on_one_device(params: Params, federation: Federation) -> dict[str, Array]:
        _, grouped = _test_sums(params, federation, by_group=True)
        return _client_values(grouped, federation.model, federation.data)

    return federation.shapes.placement.on_each(on_one_device, (SAME, SAME), SAME)(params, federation)


def _test_sums(params: Params, federation: Federation, *, by_group: bool) -> tuple[Sums, Sums]:
    """The sums over all test rows, and, if asked for, over the rows of each group [groups]: an owner or a class."""
    data, model, shapes = federation.data, federation.model, federation.shapes
    rows = data.test.y.shape[0]
    measured = {LOSS: model.loss, **{metric.name: metric.values for metric in model.metrics}}
    dtype = tree.sum_type(params)

    def batch_sums(start: Array) -> tuple[Sums, Sums]:
        positions = start + jnp.arange(min(shapes.eval_batch, rows), dtype=jnp.int32)
        mask = positions < rows
        chosen = jnp.where(mask, positions, 0)
        outputs = model.apply(params, data.preprocess(data.test.x[chosen], None), None)
        values = {name: losses.row_sums(f(outputs, data.test.y[chosen]), dtype) for name, f in measured.items()}
        whole = jax.tree.map(lambda row: jnp.where(mask, row, 0).sum(), values)
        if not by_group:
            return whole, {}
        count, groups = _groups(data)
        places = jnp.where(mask, groups[chosen], -1)
        ones = jnp.ones_like(places, dtype)

        def of_groups(row: Array) -> Array:
            return tree.add_to_rows(jnp.zeros(count, dtype), places, row)

        counted = {name: (total, ones if weight is None else weight) for name, (total, weight) in values.items()}
        return whole, jax.tree.map(of_groups, counted)

    add_batch = jax.jit(batch_sums)  # so that JAX traces it once, not again for the shapes of its sums
    (starts,) = shapes.placement.share((jnp.arange(0, rows, shapes.eval_batch, dtype=jnp.int32),), padding=(rows,))
    nothing = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(add_batch, starts[0]))
    result, _ = jax.lax.scan(lambda so_far, start: (tree.add(so_far, add_batch(start)), None), nothing, starts)
    return shapes.placement.total(result)


def _groups(data: FederatedData) -> tuple[int, Array]:
    """The number of groups of test rows, and the group of each row [test rows], negative if it has none."""
    if data.test_owners is not None:
        return data.num_clients, data.test_owners
    require_groups(data)
    return data.class_rows.shape[0], data.test.y  # type: ignore[union-attr]


def _client_values(grouped: Sums, model: Model, data: FederatedData) -> dict[str, Array]:
    """The loss and each metric of every client [clients], from the sums of each group. NaN without test rows."""
    finish = {LOSS: lambda mean: mean, **{metric.name: metric.finished for metric in model.metrics}}
    return {name: finish[name](_client_means(*sums, data)) for name, sums in grouped.items()}


def _client_means(total: Array, weight: Array, data: FederatedData) -> Array:
    if data.test_owners is not None:
        return _ratio(total, weight)
    # Σ_c p_i(c) · mean(c) is the mean of mean(c) over the client's own training rows.
    clients = jnp.arange(data.num_clients, dtype=jnp.int32)
    owner = jnp.repeat(clients, data.sizes, total_repeat_length=data.indices.shape[0])
    labels = data.train.y[data.indices]
    own = jax.ops.segment_sum(_ratio(total, weight, empty=0)[labels], owner, data.num_clients)
    return _ratio(own, jax.ops.segment_sum((weight > 0).astype(total.dtype)[labels], owner, data.num_clients))


def _ratio(total: Array, weight: Array, empty: float = np.nan) -> Array:
    return jnp.where(weight > 0, total / jnp.where(weight > 0, weight, 1), empty)


def _statistics(values: Array, metric: Metric) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and worst decile over the clients, [clients] -> three numbers. NaN is left out."""
    worst = jnp.nanquantile(values, 0.1 if metric.share else 0.9).astype(values.dtype)
    return jnp.nanmean(values), jnp.nanstd(values), worst
