"""Shakespeare: the choice of roles, the vocabulary, and the paper's counts on the complete works."""

import gzip
import tracemalloc

import jax
import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import federate, load, shakespeare
from fedcos_jax.data.partition import build

WINDOW = shakespeare.WINDOW
TEXT = b"Not the complete works.\n" * 50


def test_the_last_role_is_cut_to_the_number_of_samples():
    texts = {f"role {i}": "a" * (WINDOW + 10) for i in range(9)}
    chosen = shakespeare.choose(texts, clients=4, samples=33)
    assert [len(text) - WINDOW for text in chosen] == [10, 10, 10, 3]
    with pytest.raises(InputError, match="more samples"):
        shakespeare.choose(texts, clients=4, samples=30)


def test_characters_outside_the_vocabulary_are_refused():
    with pytest.raises(InputError, match="outside the vocabulary"):
        shakespeare.encode(["fine", "caf\xe9"])


def test_the_vocabulary_is_leafs():
    assert len(shakespeare.VOCABULARY) == len(set(shakespeare.VOCABULARY)) == 80


def test_another_text_is_refused_and_nothing_is_cached(tmp_path, cached):
    (tmp_path / "t8.shakespeare.txt.gz").write_bytes(gzip.compress(TEXT))
    with pytest.raises(InputError, match="not the published one"):
        load("shakespeare", data_dir=tmp_path)
    (tmp_path / "t8.shakespeare.txt.gz").write_bytes(gzip.compress(TEXT)[:30])
    with pytest.raises(InputError, match="damaged"):
        load("shakespeare", data_dir=tmp_path)
    assert cached() == []


def test_the_paper_has_143_roles_and_517106_samples(real):
    dataset = real("shakespeare")
    assert (len(dataset.train.y), len(dataset.test.y)) == (413_630, 103_476)
    assert len(dataset.train.y) + len(dataset.test.y) == shakespeare.SAMPLES == 517_106
    assert np.unique(dataset.groups).tolist() == list(range(143))
    assert dataset.classes == 80
    labels = np.bincount(np.concatenate([dataset.train.y, dataset.test.y]), minlength=80)
    assert shakespeare.VOCABULARY[labels.argmax()] == " "


def test_memory_stays_within_three_times_the_text(real_data):
    raw = 5_458_199
    tracemalloc.start()
    try:
        dataset = load("shakespeare", data_dir=real_data)
        data = federate(dataset, build("natural", dataset.train.y, None, 0, dataset.groups))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(data)) < 3 * raw
    assert peak < 3 * raw
