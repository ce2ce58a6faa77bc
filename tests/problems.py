"""Small federated problems for tests."""

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax import Experiment, Model, Schedule, client_sgd, fedavg
from fedcos_jax.types import Examples, FederatedData

FEATURES, CLASSES = 5, 3


def identity(x, key):
    return x


def gaussian_data(sizes=(4, 7, 6, 9), seed=0) -> FederatedData:
    """Random features and labels, clients of the given sizes owning shuffled rows."""
    rng = np.random.default_rng(seed)
    rows = sum(sizes)
    x = rng.normal(size=(rows, FEATURES))
    y = rng.integers(0, CLASSES, rows).astype(np.int32)
    examples = Examples(jnp.asarray(x), jnp.asarray(y))
    offsets = jnp.asarray(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    indices = jnp.asarray(rng.permutation(rows).astype(np.int32))
    return FederatedData(examples, examples, indices, offsets, Partial(identity))


def _init(key):
    w = np.random.default_rng(1).normal(size=(FEATURES, CLASSES))
    return {"b": jnp.zeros(CLASSES), "w": jnp.asarray(w)}


def _apply(params, x, key):
    return x @ params["w"] + params["b"][None, :]


SOFTMAX_REGRESSION = Model(_init, _apply)


def small_experiment(
    method=None, schedule=None, *, optimizer=None, data=None, sizes=(4, 7, 6, 9), **parts
) -> Experiment:
    """An experiment on random data, with whatever parts a test gives."""
    return Experiment(
        method=fedavg() if method is None else method,
        optimizer=client_sgd(0.1) if optimizer is None else optimizer,
        data=gaussian_data(sizes) if data is None else data,
        model=parts.pop("model", SOFTMAX_REGRESSION),
        schedule=schedule or Schedule(**{"rounds": 3, "local_steps": 3, "batch_size": 3} | parts),
    )
