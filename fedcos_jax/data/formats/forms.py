"""The forms in which a dataset lies on disk, and where to look for them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedcos_jax.errors import InputError

Arrays = dict[str, np.ndarray]
"""A decoded dataset by the names of its parts. Images have train_x, train_y, test_x and test_y."""


class Form(NamedTuple):
    """One way in which a dataset is distributed."""

    summary: str
    """What it is, for messages."""
    files: tuple[str, ...]
    """Its files, relative to the folder, all of them needed. A pattern like `train/*.json` needs at least one file."""
    read: Callable[[Path], Arrays]
    """(folder) -> arrays, decoded and checked against the published digests."""
    places: tuple[str, ...] = ()
    """Folders to look in besides DATA/NAME and DATA, relative to DATA or absolute."""


class Found(NamedTuple):
    """A form and a folder that has all its files."""

    form: Form
    folder: Path

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [path for file in self.form.files for path in matching(self.folder, file)]

    def read(self) -> Arrays:
        """The decoded and checked arrays."""
        return self.form.read(self.folder)


def find(name: str, forms: Sequence[Form], data_dir: Path | None) -> Found | None:
    """The first form of a dataset that is complete in one of its folders, or None if no folder has any of its files.

    Raises InputError if a folder has some but not all files of a form, and no form is complete.
    """
    nearly: tuple[int, Form, Path] | None = None
    for form in forms:
        for folder in _folders(name, form, data_dir):
            present = sum(bool(matching(folder, file)) for file in form.files)
            if present == len(form.files):
                return Found(form, folder)
            if present and (nearly is None or present > nearly[0]):
                nearly = present, form, folder
    if nearly is not None:
        _, form, folder = nearly
        missing = next(file for file in form.files if not matching(folder, file))
        raise InputError(f"{name} in {folder} is incomplete: {missing} is missing from its {form.summary}")
    return None


def matching(folder: Path, file: str) -> list[Path]:
    """The files of a folder that a name or a pattern of a form means, sorted."""
    return sorted(path for path in folder.glob(file) if path.is_file())


def _folders(name: str, form: Form, data_dir: Path | None) -> Iterator[Path]:
    if data_dir is not None:
        yield from (data_dir / name, data_dir)
    for place in form.places:
        if data_dir is not None or Path(place).is_absolute():
            yield Path(data_dir or "", place)
