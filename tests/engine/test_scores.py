"""Scores of given parameters, against NumPy and against what a run records."""

import dataclasses

import jax
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
    found = fc.evaluate(jax.device_get(state.params), experiment)
    assert found.accuracy == history.evaluation.accuracy[-1]
    assert found.loss == history.evaluation.loss[-1]


@pytest.mark.parametrize("batch", [5, 26, 100])
def test_the_table_of_confusion_counts_every_row_once(params, batch):
    experiment = small_experiment(eval_batch=batch)
    table = fc.confusion(params, experiment)
    expected = np.zeros((CLASSES, CLASSES), int)
    np.add.at(expected, (np.asarray(experiment.data.test.y), predictions(params, experiment.data)), 1)
    np.testing.assert_array_equal(table, expected)
    assert table.sum() == 26
    assert table.trace() / 26 == pytest.approx(float(fc.evaluate(params, experiment).accuracy))


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
