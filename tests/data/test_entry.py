"""A dataset is embedded if it has no form on disk."""

from fedcos_jax.data import DATASETS


def test_embedded_datasets_have_neither_files_nor_advice():
    for name, entry in DATASETS.items():
        assert entry.embedded == (not entry.forms), name
        assert entry.embedded != bool(entry.advice), name
