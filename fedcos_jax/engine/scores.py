"""Given parameters on the test set of an experiment: loss and metrics, and what is taken for what."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.engine import evaluation
from fedcos_jax.engine.devices import SAME
from fedcos_jax.engine.evaluation import Evaluation
from fedcos_jax.engine.experiment import Experiment, Federation
from fedcos_jax.errors import require
from fedcos_jax.models import Model
from fedcos_jax.models.start import fitted
from fedcos_jax.types import Array, Params


def evaluate(params: Params, experiment: Experiment) -> Evaluation:
    """What a run would record of these parameters after a round: loss and metrics over the test rows.

    Args:
        params: of the experiment's model, e.g. from `load_params`.
        experiment: whose model and test set to take. Its devices share the test rows.

    Example:
        >>> fc.evaluate(fc.load_params("model.safetensors"), experiment).accuracy
    """
    placement = experiment.federation.shapes.placement
    params = fitted(params, experiment.model)
    return jax.device_get(_evaluated(*placement.replicate((params, experiment.federation))))


@jax.jit
def _evaluated(params: Params, federation: Federation) -> Evaluation:
    on_all = federation.shapes.placement.on_each(evaluation.evaluate, (SAME, SAME), SAME)
    return on_all(params, federation)


def confusion(params: Params, experiment: Experiment) -> np.ndarray:
    """How many test rows of each class the model takes for each class, [classes, classes].

    The row of the table is the label, and the column is the class with the largest output.

    Args:
        params: of the experiment's model.
        experiment: whose model and test set to take.

    Example:
        >>> table = fc.confusion(state.params, experiment)
        >>> table.diagonal() / table.sum(axis=1)  # accuracy per class
    """
    data, model, batch = experiment.data, experiment.model, experiment.federation.shapes.eval_batch
    params = jax.device_put(fitted(params, model))
    predict = functools.partial(_predicted, model, params)
    labels = np.asarray(data.test.y)
    require(labels.ndim == 1 and labels.dtype.kind in "iu", "only a model of classes has a table of confusion")
    starts = range(0, len(labels), batch)
    outputs = jax.eval_shape(lambda x: model.apply(params, data.preprocess(x, None), None), data.test.x[:batch])
    require(len(outputs.shape) == 2, "only a model with one output per class has a table of confusion")
    found = np.concatenate([predict(data.preprocess, data.test.x[start : start + batch]) for start in starts])
    classes = max(outputs.shape[1], int(labels.max()) + 1)
    return np.bincount(labels * classes + found, minlength=classes**2).reshape(classes, classes)


@functools.partial(jax.jit, static_argnums=0)
def _predicted(model: Model, params: Params, preprocess: Callable[..., Array], x: Array) -> Array:
    """The class with the largest output for each row, [rows]."""
    return jnp.argmax(model.apply(params, preprocess(x, None), None), axis=-1)
