"""Scores of given parameters, against NumPy and against what a run records."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fedcos_jax as fc
from fedcos_jax import devices
from fedcos_jax.errors import InputError
from fedcos_jax.types import Examples
from tests.problems import CLASSES, FEATURES, SOFTMAX_REGRESSION, gaussian_data, small_experiment


@pytest.fixture(scope="module")
def params():
    rng = np.random.default_rng(3)
    return {"b": rng.normal(size=CLASSES).astype(np.float32), "w": rng.normal(size=(FEATURES, CLASSES))}


def predictions(params, data):
    return np.argmax(np.asarray(data.test.x) @ params["w"] + params["b"], axis=1)


@pytest.mark.parametrize("count", [1, 3])
def test_a_run_would_record_the_same(count):
    experiment = small_experiment(placement=devices.available(count), eval_batch=7)
    state, history = fc.run(jax.random.key(0), experiment)
    accuracy, loss = fc.evaluate(jax.device_get(state.params), experiment)
    assert accuracy == history.evaluation.accuracy[-1]
    assert loss == history.evaluation.loss[-1]


@pytest.mark.parametrize("batch", [5, 26, 100])
def test_the_table_of_confusion_counts_every_row_once(params, batch):
    experiment = small_experiment(eval_batch=batch)
    table = fc.confusion(params, experiment)
    expected = np.zeros((CLASSES, CLASSES), int)
    np.add.at(expected, (np.asarray(experiment.data.test.y), predictions(params, experiment.data)), 1)
    np.testing.assert_array_equal(table, expected)
    assert table.sum() == 26
    assert table.trace() / 26 == pytest.approx(float(fc.evaluate(params, experiment).accuracy))


def test_accuracy_of_clients_with_their_own_mix_of_labels(params):
    experiment = small_experiment()
    data = experiment.data
    labels, found = np.asarray(data.test.y), predictions(params, data)
    by_class = [np.mean(found[labels == c] == c) for c in range(CLASSES)]
    rows = np.split(np.asarray(data.indices), np.asarray(data.offsets)[1:-1])
    expected = [np.mean([by_class[label] for label in np.asarray(data.train.y)[own]]) for own in rows]
    np.testing.assert_allclose(fc.per_client(params, experiment)["accuracy"], expected, rtol=1e-12)


def test_classes_without_test_rows_are_left_out(params):
    data = gaussian_data(sizes=(4, 4))
    train = data.train._replace(y=jnp.asarray([0, 0, 1, 2, 2, 2, 2, 2], jnp.int32)[jnp.argsort(data.indices)])
    mask = np.asarray(data.test.y) < 2
    test = Examples(data.test.x[mask], data.test.y[mask])
    data = data._replace(train=train, test=test)
    experiment = small_experiment(data=data)
    right = predictions(params, data) == np.asarray(test.y)
    first, second = (right[np.asarray(test.y) == c].mean() for c in (0, 1))
    accuracy = fc.per_client(params, experiment)["accuracy"]
    assert accuracy[0] == pytest.approx((2 * first + second) / 3)
    assert np.isnan(accuracy[1])


def test_parameters_must_fit_and_outputs_must_be_classes(params):
    with pytest.raises(InputError, match="cannot be used for this model: it has no b"):
        fc.evaluate({"w": params["w"]}, small_experiment())
    values = SOFTMAX_REGRESSION._replace(apply=lambda params, x, key: x[:, 0])
    with pytest.raises(InputError, match="one output per class"):
        fc.confusion(params, small_experiment(model=values))
    data = gaussian_data()
    data = data._replace(test=Examples(data.test.x, data.test.x))
    with pytest.raises(InputError, match="only a model of classes"):
        fc.confusion(params, dataclasses.replace(small_experiment(), data=data))
