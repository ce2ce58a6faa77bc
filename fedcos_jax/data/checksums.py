"""Digests of published data: a changed or broken copy is refused before it is used."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.errors import require


class Published(NamedTuple):
    """What the rows and the original files of a dataset hash to."""

    name: str
    """Name of the dataset."""
    rows: dict[str, str]
    """split -> fingerprint of its rows."""
    files: dict[str, str]
    """name of an original file -> "algorithm:digest". Files that are not listed are not checked."""


def check_file(published: Published, folder: Path, file: str) -> None:
    """Raises InputError if the bytes of an original file are not the published ones."""
    if file not in published.files:
        return
    algorithm, expected = published.files[file].split(":")
    with open(folder / file, "rb") as stream:
        found = hashlib.file_digest(stream, algorithm).hexdigest()
    require(
        found == expected,
        f"{folder / file} is not the published file: its {algorithm.upper()} is {found[:16]}... "
        f"instead of {expected[:16]}...; fetch it again",
    )


def check_rows(published: Published, arrays: Arrays, origin: object) -> Arrays:
    """Returns the arrays if their rows are the published ones, else raises InputError.

    Args:
        published: the digests of the dataset.
        arrays: its images [rows, ...] and labels [rows], by split.
        origin: where they came from, for the message.
    """
    for split, expected in published.rows.items():
        found = fingerprint(arrays[f"{split}_x"], arrays[f"{split}_y"])
        require(
            found == expected,
            f"the {split} images or labels of {published.name} in {origin} are not the published ones: their "
            f"fingerprint is {found[:16]}... instead of {expected[:16]}...; fetch them again",
        )
    return arrays


def fingerprint(x: np.ndarray, y: np.ndarray) -> str:
    """The SHA-256 of the sorted SHA-256s of the rows.

    Sources give the same rows in different orders. Equal rows in any order have equal fingerprints.

    Args:
        x: images, [rows, ...] bytes.
        y: labels below 256, [rows].
    """
    rows = np.concatenate([x.reshape(len(x), -1), y.astype(np.uint8)[:, None]], axis=1)
    return hashlib.sha256(b"".join(sorted(hashlib.sha256(row).digest() for row in rows))).hexdigest()
