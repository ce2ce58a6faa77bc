"""The test set is counted row by row, whatever the batch and the devices."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import Evaluation, InputError, Model, devices, per_client, run
from fedcos_jax.engine.evaluation import column_names, evaluate
from fedcos_jax.types import Examples
from tests.problems import gaussian_data, small_experiment

OUTPUTS_ARE_INPUTS = Model(init=lambda key: jnp.zeros(1), apply=lambda params, x, key: x)


def evaluated(params, test, batch, count=1):
    data = gaussian_data()._replace(test=test)
    placement = devices.available(count)
    federation = small_experiment(model=OUTPUTS_ARE_INPUTS, data=data, eval_batch=batch, placement=placement).federation
    on_each = placement.on_each(lambda params: evaluate(params, federation), devices.SAME, devices.SAME)
    return jax.jit(on_each)(params)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("batch", [10, 103, 1000])
def test_every_row_counts_once(batch, count):
    rng = np.random.default_rng(0)
    outputs, labels = rng.normal(size=(103, 4)).astype(np.float32), rng.integers(0, 4, 103).astype(np.int32)
    shifted = outputs - outputs.max(1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    result = evaluated(jnp.zeros(1), Examples(jnp.asarray(outputs), jnp.asarray(labels)), batch, count)
    assert float(result.accuracy) == pytest.approx((outputs.argmax(1) == labels).mean())
    assert float(result.loss) == pytest.approx(-log_probabilities[np.arange(103), labels].mean(), rel=1e-5)


def test_small_floats_count_many_rows():
    """In bfloat16 itself 256 + 1 is 256."""
    rows = 1000
    test = Examples(jnp.eye(2)[np.zeros(rows, int)], jnp.asarray(np.arange(rows) % 10 == 0, jnp.int32))
    assert float(evaluated(jnp.zeros(1, jnp.bfloat16), test, 50).accuracy) == pytest.approx(0.9)


def test_a_metric_that_is_not_there_is_one_line():
    evaluation = Evaluation(jnp.zeros(()), {}, {"rmse": jnp.ones(())})
    assert float(evaluation.rmse) == 1
    with pytest.raises(AttributeError, match="no 'accuracy', it has loss, rmse"):
        _ = evaluation.accuracy


ROWS, CLIENTS = 53, 4


def random_test_set(rng):
    outputs, labels = rng.normal(size=(ROWS, 3)).astype(np.float32), rng.integers(0, 3, ROWS).astype(np.int32)
    return outputs, labels, Examples(jnp.asarray(outputs), jnp.asarray(labels))


def experiment_on(test, count=1, **fields):
    data = gaussian_data()._replace(test=test, **fields)
    schedule = {"eval_batch": 10, "placement": devices.available(count), "per_client": True}
    return small_experiment(model=OUTPUTS_ARE_INPUTS, data=data, **schedule)


@pytest.mark.parametrize("count", [1, 3])
def test_metrics_of_owners_of_test_rows(count):
    rng = np.random.default_rng(1)
    outputs, labels, test = random_test_set(rng)
    owners = rng.integers(0, CLIENTS - 1, ROWS).astype(np.int32)  # the last client has no test rows
    experiment = experiment_on(test, count, test_owners=jnp.asarray(owners))
    right = outputs.argmax(1) == labels
    expected = np.array([right[owners == i].mean() for i in range(CLIENTS - 1)] + [np.nan])
    found = per_client(jnp.zeros(1), experiment)
    assert found["accuracy"] == pytest.approx(expected, rel=1e-6, nan_ok=True)
    assert found["loss"].shape == (CLIENTS,)
    assert_statistics(experiment, expected)


@pytest.mark.parametrize("count", [1, 3])
def test_metrics_by_the_label_mix_of_a_client(count):
    """acc_i = Σ_c p_i(c) · acc(c), and a class without test rows is left out."""
    rng = np.random.default_rng(2)
    outputs, labels, _ = random_test_set(rng)
    labels = np.where(labels == 2, 0, labels).astype(np.int32)
    test = Examples(jnp.asarray(outputs), jnp.asarray(labels))
    experiment = experiment_on(test, count, class_rows=jnp.asarray(np.bincount(labels, minlength=3)))
    data = experiment.data
    right = outputs.argmax(1) == labels
    by_class = np.array([right[labels == c].mean() for c in range(2)])
    expected = []
    for i in range(CLIENTS):
        own = np.asarray(data.train.y)[np.asarray(data.indices)[data.offsets[i] : data.offsets[i + 1]]]
        counts = np.bincount(own, minlength=3)[:2]
        expected.append((counts * by_class).sum() / counts.sum())
    assert per_client(jnp.zeros(1), experiment)["accuracy"] == pytest.approx(np.array(expected), rel=1e-6)
    assert_statistics(experiment, np.array(expected))


def assert_statistics(experiment, expected):
    """The history has the mean, the standard deviation and the worst decile, and its accuracy is as without them."""
    _, history = run(jax.random.key(0), experiment)
    found = {name: float(value[-1]) for name, value in history.evaluation.shares.items()}
    statistics = {
        "client_accuracy_mean": np.nanmean(expected),
        "client_accuracy_std": np.nanstd(expected),
        "client_accuracy_p10": np.nanquantile(expected, 0.1),
    }
    plain = experiment.replace(schedule=dataclasses.replace(experiment.schedule, per_client=False))
    _, without = run(jax.random.key(0), plain)
    assert found == pytest.approx(statistics | {"accuracy": float(without.evaluation.accuracy[-1])}, rel=1e-5)
    assert tuple(history.evaluation.columns()) == column_names(experiment)
    assert column_names(plain) == ("accuracy", "test_loss")


def test_per_client_needs_to_know_whose_rows_are_whose():
    with pytest.raises(InputError, match="test_groups"):
        small_experiment(per_client=True)
    with pytest.raises(InputError, match="test_groups"):
        per_client(jnp.zeros(1), small_experiment())
