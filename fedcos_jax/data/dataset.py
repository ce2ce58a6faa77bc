"""What a loader returns, and how a dataset and a partition become federated data on the device."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.data.forms import Arrays
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
        """Of one example as a model sees it, after preprocessing."""
        return self._preprocessed.shape[1:]

    @property
    def input_dtype(self) -> np.dtype:
        """Of the inputs as a model sees them, after preprocessing."""
        return self._preprocessed.dtype

    @property
    def _preprocessed(self) -> jax.ShapeDtypeStruct:
        first = jax.ShapeDtypeStruct((1, *self.train.x.shape[1:]), self.train.x.dtype)
        return jax.eval_shape(lambda x: self.preprocess(x, None), first)


def image_dataset(
    name: str, arrays: Arrays, classes: int, preprocess: Callable[[Array, Array | None], Array]
) -> Dataset:
    """A dataset of images that stay bytes until they are preprocessed."""
    train, test = (Examples(arrays[f"{split}_x"], arrays[f"{split}_y"].astype(np.int32)) for split in ("train", "test"))
    return Dataset(name, train, test, classes, preprocess)


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
