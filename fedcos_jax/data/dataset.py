"""What a loader returns, and how a dataset and a partition become federated data on the device."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from numpy.typing import ArrayLike

from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.data.partition import Ownership, require_fitting
from fedcos_jax.errors import InputError, require
from fedcos_jax.types import Array, Examples, FederatedData, Scalar

MOST_CLASSES = 2**20
"""A larger label is a mistake: it would be an output of the model, and past 2**31 it would be another label."""
Preprocess = Callable[[Array, Array | None], Array]
"""(stored inputs [rows, ...], key) -> model inputs [rows, ...]. The key is None at evaluation."""


class Dataset(NamedTuple):
    """A dataset on the host. Inputs keep the dtype in which they are stored."""

    name: str
    train: Examples
    test: Examples
    classes: int
    preprocess: Preprocess
    groups: np.ndarray | None = None
    """The natural client of each training row, [rows]. None if the dataset has no clients of its own."""
    test_groups: np.ndarray | None = None
    """The natural client of each test row, [test rows], as in `groups`. None if test rows are nobody's."""
    client_names: np.ndarray | None = None
    """The names of the natural clients, in the order of their numbers, [clients]. None if they have none."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one example as a model sees it, after preprocessing."""
        return self._preprocessed.shape[1:]

    @property
    def input_dtype(self) -> np.dtype:
        """Dtype of the inputs as a model sees them, after preprocessing."""
        return self._preprocessed.dtype

    @property
    def _preprocessed(self) -> jax.ShapeDtypeStruct:
        first = jax.ShapeDtypeStruct((1, *self.train.x.shape[1:]), self.train.x.dtype)
        return jax.eval_shape(lambda x: self.preprocess(x, None), first)

    def unaugmented(self) -> "Dataset":
        """The same dataset, with training inputs preprocessed as at evaluation."""
        return self._replace(preprocess=Partial(_without_key, self.preprocess))


def from_arrays(
    train: tuple[ArrayLike, ArrayLike],
    test: tuple[ArrayLike, ArrayLike],
    *,
    preprocess: Preprocess | None = None,
    groups: ArrayLike | None = None,
    name: str = "arrays",
) -> Dataset:
    """A dataset of your own arrays.

    Args:
        train: inputs [rows, ...] and labels [rows]. Labels are whole numbers from 0.
        test: inputs and labels for testing.
        preprocess: turns stored inputs into model inputs, as in `FederatedData`. None leaves them as they are.
        groups: the client of each training row [rows], numbers or names, for the partition `natural`.
        name: shown in results.

    Example:
        >>> x, y = np.random.default_rng(0).normal(size=(100, 5)), np.arange(100) % 2
        >>> dataset = fc.from_arrays((x[:80], y[:80]), (x[80:], y[80:]))
    """
    splits = {split: _examples(split, *arrays) for split, arrays in (("training", train), ("test", test))}
    trained, tested = (examples.x for examples in splits.values())
    require(
        trained.shape[1:] == tested.shape[1:],
        f"training inputs have shape {trained.shape[1:]}, test inputs {tested.shape[1:]}",
    )
    require(
        trained.dtype.kind == tested.dtype.kind,
        f"training inputs are {trained.dtype}, test inputs {tested.dtype}: store both alike",
    )
    owners = None if groups is None else np.unique(_as_array(groups, "groups are ragged"), return_inverse=True)[1]
    require(
        owners is None or len(owners) == len(splits["training"].y), "groups must name a client for each training row"
    )
    return Dataset(
        name=name,
        train=splits["training"]._replace(y=splits["training"].y.astype(np.int32)),
        test=splits["test"]._replace(y=splits["test"].y.astype(np.int32)),
        classes=int(max(examples.y.max() for examples in splits.values())) + 1,
        preprocess=Partial(preprocess or as_stored),
        groups=owners,
    )


def _examples(split: str, inputs: ArrayLike, labels: ArrayLike) -> Examples:
    """The rows of one split as arrays, or InputError if they are not inputs and the classes of each of them."""
    x = _as_array(inputs, f"{split} inputs differ in shape from row to row: pad or cut them")
    y = _as_array(labels, f"{split} labels must be whole numbers from 0")
    require(x.ndim > 0 and y.ndim > 0, f"{split} inputs and labels must be arrays with one entry per row")
    require(len(y) > 0 and len(x) == len(y), f"{split} inputs and labels are {len(x)} and {len(y)} rows")
    require(x.dtype.kind in "biuf", f"{split} inputs must be numbers, got {x.dtype}")
    require(y.ndim == 1 and y.dtype.kind in "iu" and y.min() >= 0, f"{split} labels must be whole numbers from 0")
    advice = "number the classes by np.unique(labels, return_inverse=True)"
    require(y.max() < MOST_CLASSES, f"{split} labels go up to {y.max()}, past {MOST_CLASSES:,} classes: {advice}")
    return Examples(x, y)


def _as_array(values: ArrayLike, complaint: str) -> np.ndarray:
    """The values as an array. Raises InputError if they are ragged."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(complaint) from None


def as_stored(x: Array, key: Array | None) -> Array:
    """Preprocessing that leaves the inputs as they are stored."""
    return x


def image_dataset(name: str, arrays: Arrays, classes: int, preprocess: Preprocess) -> Dataset:
    """A dataset of images, which stay bytes until they are preprocessed."""
    train, test = (Examples(arrays[f"{split}_x"], arrays[f"{split}_y"].astype(np.int32)) for split in ("train", "test"))
    return Dataset(name, train, test, classes, preprocess)


def scaled(largest: Scalar, mean: Scalar, deviation: Scalar) -> Preprocess:
    """Preprocessing of images: (x / largest - mean) / deviation.

    Args:
        largest: the largest pixel.
        mean: of pixels in [0, 1]; a number, or an array [1, 1, 1, channels] with one number per channel.
        deviation: like `mean`.
    """
    return Partial(_affine, jnp.asarray(1 / (largest * deviation)), jnp.asarray(-mean / deviation))


def _affine(scale: Array, shift: Array, x: Array, key: Array | None) -> Array:
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(scale.dtype)
    return x * scale + shift


def _without_key(preprocess: Preprocess, x: Array, key: Array | None) -> Array:
    return preprocess(x, None)


def federate(dataset: Dataset, ownership: Ownership, cohorts: ArrayLike | None = None) -> FederatedData:
    """Puts a dataset on the default device, once, together with who owns which rows.

    Args:
        dataset: from `load` or `from_arrays`.
        ownership: from `partition.build`, or from your own lists of rows by `Ownership.of`.
        cohorts: the clients of each round, [rounds, cohort], for example from a trace of who was available. None to
            draw them from the key of a run.
    """
    require_fitting(ownership, len(dataset.train.y))
    if cohorts is not None:
        cohorts = _as_array(cohorts, "cohorts must be whole numbers, as many in each round as in the others")
        _require_cohorts(cohorts, ownership.num_clients)
    as_arrays = lambda examples: jax.tree.map(jnp.asarray, examples)  # noqa: E731
    return FederatedData(
        train=as_arrays(dataset.train),
        test=as_arrays(dataset.test),
        indices=jnp.asarray(ownership.indices, jnp.int32),
        offsets=jnp.asarray(ownership.offsets, jnp.int32),
        preprocess=dataset.preprocess,
        cohorts=None if cohorts is None else jnp.asarray(cohorts, jnp.int32),
    )


def _require_cohorts(cohorts: np.ndarray, clients: int) -> None:
    """Raises InputError unless each row of [rounds, cohort] names different clients of the population."""
    require(
        cohorts.ndim == 2 and cohorts.dtype.kind in "iu" and cohorts.size > 0,
        f"cohorts must be whole numbers [rounds, clients per round], got {cohorts.dtype} {list(cohorts.shape)}",
    )
    lowest, highest = cohorts.min(), cohorts.max()
    require(
        lowest >= 0 and highest < clients,
        f"cohorts must name clients 0 to {clients - 1}, got {lowest} to {highest}",
    )
    twice = np.flatnonzero((np.diff(np.sort(cohorts, axis=1), axis=1) == 0).any(axis=1))
    if len(twice):
        raise InputError(f"the cohort of round {twice[0]} names a client twice")
