"""What a loader returns, and how a dataset and a partition become federated data on the device."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.partition import Ownership
from fedcos_jax.types import Array, Examples, FederatedData, Scalar


class Dataset(NamedTuple):
    """A dataset on the host, inputs in their stored dtype."""

    name: str
    train: Examples
    test: Examples
    classes: int
    preprocess: Callable[[Array, Array | None], Array]
    groups: np.ndarray | None = None
    """The natural client of each training row, [rows]; None if the dataset has none."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.train.x.shape[1:]


def scaled(largest: Scalar, mean: Scalar, deviation: Scalar) -> Callable[[Array, Array | None], Array]:
    """Preprocessing of images: (x/largest - mean) / deviation, with numbers or one value a channel."""
    return Partial(_affine, jnp.asarray(1 / (largest * deviation)), jnp.asarray(-mean / deviation))


def _affine(scale: Array, shift: Array, x: Array, key: Array | None) -> Array:
    return x * scale + shift


def federate(dataset: Dataset, ownership: Ownership) -> FederatedData:
    """Puts a dataset on the default device, once, beside who owns which rows."""
    as_arrays = lambda examples: jax.tree.map(jnp.asarray, examples)  # noqa: E731
    return FederatedData(
        train=as_arrays(dataset.train),
        test=as_arrays(dataset.test),
        indices=jnp.asarray(ownership.indices),
        offsets=jnp.asarray(ownership.offsets),
        preprocess=dataset.preprocess,
    )
