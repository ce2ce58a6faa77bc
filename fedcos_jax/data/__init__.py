"""The datasets, by name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fedcos_jax.data import digits, fashion_mnist
from fedcos_jax.data.dataset import Dataset, federate, scaled
from fedcos_jax.errors import require, require_known

DATA_DIR_VARIABLE = "FEDCOS_DATA_DIR"


class DatasetEntry(NamedTuple):
    """One row of the DATASETS registry."""

    summary: str
    load: Callable[..., Dataset]
    """(folder with the files or None) -> dataset; () -> dataset where no files are needed."""
    has_files: bool


DATASETS: dict[str, DatasetEntry] = {
    "digits": DatasetEntry("1,797 handwritten digits, 8x8; embedded, needs no files", digits.load, has_files=False),
    "fashion_mnist": DatasetEntry("70,000 fashion products, 28x28; four gz files", fashion_mnist.load, has_files=True),
}


def data_directory(given: str | os.PathLike | None = None) -> Path | None:
    """The folder of local data: the one given, else that of FEDCOS_DATA_DIR, else None."""
    name = given or os.environ.get(DATA_DIR_VARIABLE)
    if not name:
        return None
    folder = Path(name).expanduser()
    require(folder.is_dir(), f"the data directory {folder} does not exist")
    return folder


def load(name: str, data_dir: str | os.PathLike | None = None) -> Dataset:
    """The named dataset, its files looked for in `data_dir` or in FEDCOS_DATA_DIR."""
    require_known(name, DATASETS, "dataset")
    entry = DATASETS[name]
    return entry.load(data_directory(data_dir)) if entry.has_files else entry.load()


__all__ = ["DATASETS", "DATA_DIR_VARIABLE", "Dataset", "data_directory", "federate", "load", "scaled"]
