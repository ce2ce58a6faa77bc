"""LEAF's datasets as others publish them: FEMNIST, Shakespeare and Sent140 in JSON, and others in that format."""

import os
from functools import partial
from pathlib import Path

import numpy as np

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.formats import leaf
from fedcos_jax.data.formats.forms import Arrays, Form, matching
from fedcos_jax.data.leaf_kinds import BUCKETS, IMAGE_SIDE, KINDS, LeafKind, detect
from fedcos_jax.data.shakespeare import WINDOW
from fedcos_jax.errors import InputError, require, require_known
from fedcos_jax.types import Examples

SPLIT = ("train/*.json", "test/*.json")
UNDIVIDED = ("all_data/*.json",)
TEST_EVERY = 10
"""Of undivided data, one row of so many is for testing."""


def from_leaf(folder: str | os.PathLike, kind: str | LeafKind = "auto", *, name: str | None = None) -> Dataset:
    """A dataset in LEAF's JSON. Its clients are the users, and test rows keep their users.

    Files are read one by one.

    Args:
        folder: has `train/*.json` and `test/*.json`, or `all_data/*.json`, or a folder `data` with one of these. Of
            `all_data`, a tenth of each user's rows is for testing.
        kind: how to read x and y: "femnist", "shakespeare", "sent140", "numbers", or a `LeafKind` of your own. "auto"
            to decide by the first sample.
        name: shown in results.

    Example:
        >>> dataset = fc.from_leaf("leaf/data/femnist")
        >>> ownership = fc.partition.build("natural", dataset.train.y, None, 0, dataset.groups)
    """
    root = Path(folder).expanduser()
    if isinstance(kind, str):
        require_known(kind, ("auto", *KINDS), "kind of LEAF data")
    known = kind if isinstance(kind, LeafKind) else KINDS.get(kind)
    for place in (root, root / "data"):
        for patterns in (SPLIT, UNDIVIDED):
            if all(matching(place, pattern) for pattern in patterns):
                reader = _Reader(known)
                arrays = reader.read(patterns, place)
                return build(reader.known_kind, name, arrays)
    raise InputError(f"{root} has neither {' and '.join(SPLIT)} nor {UNDIVIDED[0]}")


def _read(kind: LeafKind, patterns: tuple[str, ...], folder: Path) -> Arrays:
    return _Reader(kind).read(patterns, folder)


class _Reader:
    """Reads a folder. The first sample decides on the kind if it is not known."""

    def __init__(self, kind: LeafKind | None):
        self.kind = kind

    @property
    def known_kind(self) -> LeafKind:
        """The kind, once a sample has been read."""
        if self.kind is None:
            raise InputError("LEAF's files have no samples")
        return self.kind

    def encode(self, x: list, y: list) -> tuple[np.ndarray, np.ndarray]:
        """The samples of a user as arrays."""
        self.kind = self.kind or detect(x[0], y[0])
        inputs, labels = self.kind.inputs(x), self.kind.labels(y)
        made = f"the kind {self.kind.name} makes {len(inputs)} inputs and {len(labels)} labels of {len(x)} samples"
        require(len(inputs) == len(labels) == len(x), made)
        return inputs, labels

    def read(self, patterns: tuple[str, ...], folder: Path) -> Arrays:
        """Inputs, labels and owners of both splits, and the owners' names. Those with training rows come first."""
        found = [list(leaf.read_users(matching(folder, pattern), self.encode)) for pattern in patterns]
        if len(found) == 1:
            found = [list(part) for part in zip(*map(self._divided, found[0]), strict=True)] or [[], []]
        names: dict[str, int] = {}
        arrays: Arrays = {}
        for split, users in zip(("train", "test"), found, strict=True):
            users = [rows for rows in users if len(rows.y)]
            if not users:
                raise InputError(f"{folder} has no {split} samples")
            rows = leaf.join(users, names)
            arrays |= {f"{split}_x": rows.x, f"{split}_y": rows.y, f"{split}_owner": rows.owner}
        if arrays["train_x"].shape[1:] != arrays["test_x"].shape[1:]:
            shapes = arrays["train_x"].shape[1:], arrays["test_x"].shape[1:]
            raise InputError(f"training samples in {folder} have shape {shapes[0]}, test samples {shapes[1]}")
        return arrays | {"names": np.array(list(names))}

    def _divided(self, rows: leaf.UserRows) -> tuple[leaf.UserRows, leaf.UserRows]:
        """The training and test rows of a user. Test rows are the last ones if the order is that of time."""
        place = np.arange(len(rows.y))
        kept = len(place) - len(place) // TEST_EVERY
        test = place >= kept if self.known_kind.in_order else place % TEST_EVERY == TEST_EVERY - 1
        training = rows._replace(x=rows.x[~test], y=rows.y[~test])
        return training, rows._replace(x=rows.x[test], y=rows.y[test])


def build(kind: LeafKind, name: str | None, arrays: Arrays) -> Dataset:
    """The dataset of the arrays that were read."""
    labels = [arrays[f"{split}_y"].astype(np.int32) for split in ("train", "test")]
    return Dataset(
        name=name or f"leaf_{kind.name}",
        train=Examples(arrays["train_x"], labels[0]),
        test=Examples(arrays["test_x"], labels[1]),
        classes=kind.classes or int(max(y.max() for y in labels)) + 1,
        preprocess=kind.preprocess,
        groups=arrays["train_owner"],
        test_groups=arrays["test_owner"],
        client_names=arrays["names"],
    )


def entry(kind: LeafKind, summary: str, shape: tuple[int, ...]) -> DatasetEntry:
    """The registry's row of a kind."""
    places = (kind.name, f"{kind.name}/data")
    forms = [
        Form(f"LEAF's {what}", patterns, partial(_read, kind, patterns), places)
        for what, patterns in (("train and test", SPLIT), ("all_data", UNDIVIDED))
    ]
    return DatasetEntry(
        summary=f"{summary}, in LEAF's JSON; natural clients",
        rows=None,
        shape=shape,
        build=partial(build, kind, None),
        forms=tuple(forms),
        varies=True,
        advice=f"LEAF's train and test folders of {kind.name}, and put them in DATA/{kind.name}",
    )


ENTRIES = {
    "leaf_femnist": entry(KINDS["femnist"], "handwritten digits and letters, 28x28, 62 classes", (IMAGE_SIDE,) * 2),
    "leaf_shakespeare": entry(KINDS["shakespeare"], "the next character, 80 classes", (WINDOW,)),
    "leaf_sent140": entry(KINDS["sent140"], "positive and negative tweets as bags of words, 2 classes", (BUCKETS,)),
}
