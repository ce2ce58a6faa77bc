"""The datasets: `load` by name, from whichever source, and `federate` with a partition."""

from fedcos_jax.data.dataset import Dataset, federate, from_arrays, scaled
from fedcos_jax.data.registry import DATASETS, DatasetEntry
from fedcos_jax.data.sources import DATA_DIR_VARIABLE, SOURCES, data_directory, load
from fedcos_jax.data.synthetic import synthetic

__all__ = [
    "DATASETS",
    "DATA_DIR_VARIABLE",
    "SOURCES",
    "Dataset",
    "DatasetEntry",
    "data_directory",
    "federate",
    "from_arrays",
    "load",
    "scaled",
    "synthetic",
]
