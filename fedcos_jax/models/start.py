"""Models that start from given parameters instead of drawing them."""

import dataclasses
import hashlib

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import tree
from fedcos_jax.errors import require
from fedcos_jax.models.model import Model
from fedcos_jax.types import Array, Params

_SHOWN = 3
"""How many differences a message names."""


@dataclasses.dataclass(frozen=True)
class Start:
    """An `init` that gives the same parameters for every key.

    Starts from equal parameters are equal, so that their models share compiled programs.
    """

    params: Params = dataclasses.field(compare=False, repr=False)
    checksum: str

    def __call__(self, key: Array) -> Params:
        """The parameters."""
        return jax.tree.map(jnp.asarray, self.params)


def started_from(model: Model, params: Params) -> Model:
    """The model with these initial parameters. The key of a run then decides everything else.

    Args:
        model: any model.
        params: the state's `params` of an earlier run, or what `load_params` gives. They must fit the model.

    Example:
        >>> further = experiment.replace(model=fc.started_from(experiment.model, state.params))
    """
    params = fitted(params, model)
    return model._replace(init=Start(params, checksum(params)))


def fitted(params: Params, model: Model, what: str = "the parameters") -> Params:
    """Parameters in the structure and dtypes of the model's own, on the host. Their names must be the model's.

    Args:
        params: a tree of arrays. It may be a dictionary where the model has a list or a tuple.
        model: whose parameters they are.
        what: what holds the parameters, for messages.
    """
    wanted = jax.eval_shape(model.init, jax.random.key(0))
    shapes, given = tree.named(wanted), tree.named(jax.tree.map(np.asarray, params))
    differences = [
        *(f"it has no {name}" for name in shapes if name not in given),
        *(f"the model has no {name}" for name in given if name not in shapes),
        *filter(None, (_difference(name, given[name], shapes[name]) for name in shapes if name in given)),
    ]
    more = f"; and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
    require(not differences, f"{what} cannot be used for this model: {'; '.join(differences[:_SHOWN])}{more}")
    leaves = [given[name].astype(leaf.dtype) for name, leaf in shapes.items()]
    return jax.tree.unflatten(jax.tree.structure(wanted), leaves)


def _difference(name: str, given: np.ndarray, wanted: jax.ShapeDtypeStruct) -> str | None:
    """What keeps an array from being the parameter of this name. None if nothing does."""
    if given.shape != wanted.shape:
        return f"{name} has the shape {list(given.shape)} instead of {list(wanted.shape)}"
    real = jnp.issubdtype(given.dtype, jnp.floating) and jnp.issubdtype(wanted.dtype, jnp.floating)
    if given.dtype != wanted.dtype and not real:
        return f"{name} has the type {given.dtype} instead of {wanted.dtype}"
    return None


def checksum(params: Params) -> str:
    """The SHA-256 of the parameters: of their names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, leaf in sorted(tree.named(params).items()):
        values = np.asarray(leaf, order="C")
        digest.update(f"{name} {values.dtype} {list(values.shape)}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
