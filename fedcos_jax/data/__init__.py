"""Rows and their owners: `load` gives a dataset by name, and `federate` joins it with a partition."""

from fedcos_jax.data.dataset import Dataset, federate, from_arrays, scaled
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.huggingface import from_huggingface
from fedcos_jax.data.leaf import from_leaf
from fedcos_jax.data.leaf_kinds import LeafKind
from fedcos_jax.data.registry import DATASETS
from fedcos_jax.data.sources import DATA_DIR_VARIABLE, SOURCES, data_directory, load

__all__ = [
    "DATASETS",
    "DATA_DIR_VARIABLE",
    "SOURCES",
    "Dataset",
    "DatasetEntry",
    "LeafKind",
    "data_directory",
    "federate",
    "from_arrays",
    "from_huggingface",
    "from_leaf",
    "load",
    "scaled",
]
