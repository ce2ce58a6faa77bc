"""Small federated problems for tests."""

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax import Model
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
