"""Datasets of Hugging Face's package `datasets`, which is not imported: anything with its interface will do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedcos_jax.data.dataset import Dataset, Preprocess, from_arrays, scaled
from fedcos_jax.errors import InputError, require, require_known

_BLOCK = 1000
"""Rows that are decoded at once."""
_PLAIN_MODES = {"1": "L", "P": "RGB", "PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB", "LAB": "RGB"}
"""Modes of images whose numbers are not brightness or red, green and blue, and what they become."""


def from_huggingface(
    train: Any,
    test: Any,
    *,
    x: str | Sequence[str] = "image",
    y: str = "label",
    group: str | None = None,
    preprocess: Preprocess | None = None,
    name: str | None = None,
) -> Dataset:
    """A dataset of two tables, like those that `datasets.load_dataset(...)["train"]` gives.

    Args:
        train: the table for training, with the columns below. It is read block by block.
        test: the table for testing.
        x: the column of inputs, images or numbers of one shape. Several columns of numbers become one input.
        y: the column of labels, classes or whole numbers from 0.
        group: the column that names the client of each row, for the partition `natural`. None if there is none.
        preprocess: as in `from_arrays`. None scales images of bytes to [-1, 1] and leaves other inputs as they are.
        name: shown in results. None for the name that the table has.

    Example:
        >>> tables = datasets.load_dataset("ylecun/mnist")
        >>> dataset = fc.from_huggingface(tables["train"], tables["test"])
    """
    tables = {"training": train, "test": test}
    columns = [x] if isinstance(x, str) else list(x)
    require(len(columns) > 0, "x must name a column")
    for split, table in tables.items():
        _check_table(split, table, [*columns, y])
    inputs, labels = [_inputs(table, columns) for table in tables.values()], _labels(tables, y)
    if preprocess is None and _are_images(train, columns) and inputs[0].dtype == np.uint8:
        preprocess = scaled(255.0, 0.5, 0.5)
    given = name or getattr(getattr(train, "info", None), "dataset_name", None) or "huggingface"
    train_rows, test_rows = zip(inputs, labels, strict=True)
    dataset = from_arrays(train_rows, test_rows, preprocess=preprocess, name=given)
    named = getattr(train.features[y], "num_classes", None)
    if named is not None and dataset.classes is not None:
        require(dataset.classes <= named, f"{y} goes up to {dataset.classes - 1}, but it has {named} classes")
        dataset = dataset._replace(classes=named)
    return _with_clients(dataset, tables, group)


def _check_table(split: str, table: Any, columns: Sequence[str]) -> None:
    """Raises InputError unless this is a table that has rows and these columns."""
    advice = "give one table, like load_dataset(...)['train']"
    require(not isinstance(table, dict), f"the {split} data are a dictionary of splits: {advice}")
    is_table = hasattr(table, "column_names") and hasattr(table, "with_format")
    require(is_table, f"the {split} data are no table of the package datasets but a {type(table).__name__}: {advice}")
    require(hasattr(table, "__len__"), f"the {split} data are a stream: load them without streaming=True")
    require(len(table) > 0, f"the {split} data have no rows")
    for column in columns:
        require_known(column, table.column_names, f"column of the {split} data:")


def _are_images(table: Any, columns: Sequence[str]) -> bool:
    """Whether the first value of the only column is an image of Pillow."""
    first = table.select_columns(list(columns)).with_format(None)[0][columns[0]]
    return len(columns) == 1 and hasattr(first, "convert") and hasattr(first, "mode")


def _inputs(table: Any, columns: Sequence[str]) -> np.ndarray:
    """The inputs, [rows, ...]."""
    if _are_images(table, columns):
        return _images(table, columns[0])
    values = [_values(table, column) for column in columns]
    if len(columns) == 1:
        return values[0]
    for column, array in zip(columns, values, strict=True):
        require(array.ndim == 1, f"the column {column!r} must hold one number per row to be joined with others")
    return np.stack(values, axis=1)


def _images(table: Any, column: str) -> np.ndarray:
    """The images of a column, [rows, height, width] or [rows, height, width, channels]."""
    images: np.ndarray | None = None
    pictures = table.select_columns([column]).with_format(None)
    for start in range(0, len(table), _BLOCK):
        for row, picture in enumerate(pictures[start : start + _BLOCK][column], start):
            require(picture is not None, f"row {row} of the column {column!r} is empty")
            pixels = np.asarray(picture.convert(_PLAIN_MODES.get(picture.mode, picture.mode)))
            if images is None:
                images = np.empty((len(table), *pixels.shape), pixels.dtype)
            if (pixels.shape, pixels.dtype) != (images.shape[1:], images.dtype):
                shapes = ["x".join(map(str, shape)) for shape in (pixels.shape, images.shape[1:])]
                raise InputError(
                    f"row {row} of the column {column!r} is an image of {shapes[0]} {pixels.dtype}, and the first is "
                    f"of {shapes[1]} {images.dtype}: make them alike with map(), before they come here"
                )
            images[row] = pixels
    assert images is not None
    return images


def _values(table: Any, column: str) -> np.ndarray:
    """The values of a column that are no images, [rows, ...]."""
    numbers = table.select_columns([column]).with_format("numpy")
    blocks = [np.asarray(numbers[start : start + _BLOCK][column]) for start in range(0, len(table), _BLOCK)]
    ragged = any(block.dtype == object or block.shape[1:] != blocks[0].shape[1:] for block in blocks)
    advice = "fill, cut or pad them with map(), before they come here"
    require(not ragged, f"the column {column!r} has empty values or values of different shapes: {advice}")
    return np.concatenate(blocks)


def _labels(tables: dict[str, Any], y: str) -> list[np.ndarray]:
    """The labels of both splits, [rows], with the same names for their classes."""
    names = [getattr(table.features[y], "names", None) for table in tables.values()]
    require(names[0] == names[1], f"the classes of {y!r} differ: {names[0]} for training, {names[1]} for testing")
    labels = [_values(table, y) for table in tables.values()]
    for array in labels:
        is_text = array.dtype.kind in "US"
        require(not is_text, f"the column {y!r} holds texts: number them with class_encode_column({y!r})")
    return [array.astype(np.int32) if array.dtype == bool else array for array in labels]


def _with_clients(dataset: Dataset, tables: dict[str, Any], group: str | None) -> Dataset:
    """The dataset with the clients that a column names. Those without training rows come last."""
    if group is None:
        return dataset
    require_known(group, tables["training"].column_names, "column of the training data:")
    names, owners = np.unique(_owner_names(tables["training"], group), return_inverse=True)
    dataset = dataset._replace(groups=owners.astype(np.int32), client_names=names)
    if group not in tables["test"].column_names:
        return dataset
    of_test = _owner_names(tables["test"], group)
    known = np.concatenate([names, np.setdiff1d(of_test, names)])
    order = np.argsort(known)
    return dataset._replace(
        test_groups=order[np.searchsorted(known, of_test, sorter=order)].astype(np.int32), client_names=known
    )


def _owner_names(table: Any, group: str) -> np.ndarray:
    """The name of each row's client, [rows]."""
    names = _values(table, group)
    require(names.ndim == 1, f"the column {group!r} must name one client per row")
    return names
