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
    classes: int | None
    """Number of classes. None if labels are not classes."""
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
    test_groups: ArrayLike | None = None,
    name: str = "arrays",
) -> Dataset:
    """A dataset of your own arrays.

    Args:
        train: inputs [rows, ...] and labels [rows, ...]. Whole numbers [rows] from 0 are classes. Labels of any other
            shape or type are for a model with a loss of its own.
        test: inputs and labels for testing.
        preprocess: turns stored inputs into model inputs, as in `FederatedData`. None leaves them as they are.
        groups: the client of each training row [rows], numbers or names, for the partition `natural`.
        test_groups: the client of each test row [rows], in the same numbers or names.
        name: shown in results.

    Example:
        >>> x, y = np.random.default_rng(0).normal(size=(100, 5)), np.arange(100) % 2
        >>> dataset = fc.from_arrays((x[:80], y[:80]), (x[80:], y[80:]))
    """
    splits = {split: _examples(split, *arrays) for split, arrays in (("training", train), ("test", test))}
    for what, position in (("inputs", 0), ("labels", 1)):
        trained, tested = (examples[position] for examples in splits.values())
        require(
            trained.shape[1:] == tested.shape[1:],
            f"training {what} have shape {trained.shape[1:]}, test {what} {tested.shape[1:]}",
        )
        require(
            trained.dtype.kind == tested.dtype.kind,
            f"training {what} are {trained.dtype}, test {what} {tested.dtype}: store both alike",
        )
    classes = None
    if all(_are_classes(examples.y) for examples in splits.values()):
        classes = int(max(examples.y.max() for examples in splits.values())) + 1
    names, owners, test_owners = _owners(groups, test_groups, *(len(examples.y) for examples in splits.values()))
    return Dataset(
        name=name,
        train=splits["training"],
        test=splits["test"],
        classes=classes,
        preprocess=Partial(preprocess or as_stored),
        groups=owners,
        test_groups=test_owners,
        client_names=names,
    )


def _examples(split: str, inputs: ArrayLike, labels: ArrayLike) -> Examples:
    """The rows of one split as arrays. Raises InputError if they are not numbers, row by row."""
    x = _as_array(inputs, f"{split} inputs differ in shape from row to row: pad or cut them")
    y = _as_array(labels, f"{split} labels differ in shape from row to row: pad them")
    require(x.ndim > 0 and y.ndim > 0, f"{split} inputs and labels must be arrays with one entry per row")
    require(len(y) > 0 and len(x) == len(y), f"{split} inputs and labels are {len(x)} and {len(y)} rows")
    require(x.dtype.kind in "biuf", f"{split} inputs must be numbers, got {x.dtype}")
    return Examples(x, _checked_labels(y, split))


def _are_classes(labels: np.ndarray) -> bool:
    return labels.ndim == 1 and labels.dtype.kind in "iu"


def _checked_labels(labels: np.ndarray, split: str) -> np.ndarray:
    """The labels, whole numbers as int32. Raises InputError for labels that no loss can take."""
    kind = labels.dtype.kind
    require(kind in "iufb", f"{split} labels must be numbers, got {labels.dtype}")
    if kind == "f":
        require(bool(np.isfinite(labels).all()), f"{split} labels have numbers that are not finite")
    if kind not in "iu":
        return labels
    if _are_classes(labels):
        require(labels.min() >= 0, f"{split} labels must be whole numbers from 0")
        advice = "number the classes by np.unique(labels, return_inverse=True)"
        require(
            labels.max() < MOST_CLASSES,
            f"{split} labels go up to {labels.max()}, past {MOST_CLASSES:,} classes: {advice}",
        )
    limits = np.iinfo(np.int32)
    fits = limits.min <= labels.min(initial=0) and labels.max(initial=0) < limits.max
    require(fits, f"{split} labels must be below 2**31 - 1 in size, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int32)


def _owners(
    groups: ArrayLike | None, test_groups: ArrayLike | None, rows: int, test_rows: int
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """The names of the clients [clients], and the number of the client of each training row and each test row."""
    if groups is None:
        require(test_groups is None, "test_groups need groups, which name the clients of the training rows")
        return None, None, None
    names, owners = np.unique(_as_array(groups, "groups are ragged"), return_inverse=True)
    require(len(owners) == rows, "groups must name a client for each training row")
    if test_groups is None:
        return names, owners, None
    test = _as_array(test_groups, "test_groups are ragged")
    require(test.shape == (test_rows,), "test_groups must name a client for each test row")
    unknown = np.setdiff1d(test, names)
    require(not len(unknown), f"test_groups name {', '.join(map(str, unknown[:3]))}, who have no training rows")
    return names, owners, np.searchsorted(names, test)


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
    owners = test_owners(dataset, ownership)
    class_rows = None if dataset.classes is None else np.bincount(dataset.test.y, minlength=dataset.classes)
    as_arrays = lambda examples: jax.tree.map(jnp.asarray, examples)  # noqa: E731
    return FederatedData(
        train=as_arrays(dataset.train),
        test=as_arrays(dataset.test),
        indices=jnp.asarray(ownership.indices, jnp.int32),
        offsets=jnp.asarray(ownership.offsets, jnp.int32),
        preprocess=dataset.preprocess,
        cohorts=None if cohorts is None else jnp.asarray(cohorts, jnp.int32),
        test_owners=None if owners is None else jnp.asarray(owners, jnp.int32),
        class_rows=None if class_rows is None else jnp.asarray(class_rows, jnp.int32),
    )


def test_owners(dataset: Dataset, ownership: Ownership) -> np.ndarray | None:
    """The client of each test row. None unless client i owns the training rows of group i and no others."""
    groups, sizes = dataset.groups, np.diff(ownership.offsets)
    if groups is None or dataset.test_groups is None or len(ownership.indices) != len(groups):
        return None
    natural = np.array_equal(groups[ownership.indices], np.repeat(np.arange(len(sizes)), sizes))
    return dataset.test_groups if natural else None


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
