"""Every row of DATASETS: it loads, it has the rows and shapes that it says, and its summary agrees with them."""

import re

import jax
import numpy as np
import pytest

from fedcos_jax import InputError, load
from fedcos_jax.data import DATASETS, SOURCES, digits, leaf, mnist, sources
from tests.data.leaf_files import write_dataset
from tests.data.tiny_idx import TinyIdx

EMBEDDED = [name for name, entry in DATASETS.items() if entry.embedded]
FROM_FILES = [name for name, entry in DATASETS.items() if not entry.embedded]


STAND_INS = [variant.name for variant in mnist.VARIANTS if variant.name != "fashion_mnist"]
"""Datasets whose files the developers could not download. Small files made by hand pass for them."""


@pytest.fixture
def dataset_of(request, monkeypatch, tmp_path):
    """(name) -> the dataset: embedded, the real one, or a stand-in."""

    def get(name):
        if DATASETS[name].embedded:
            return load(name)
        if name in leaf.ENTRIES:
            write_dataset(tmp_path, name.removeprefix("leaf_"))
            return load(name, data_dir=tmp_path)
        if name not in STAND_INS:
            return request.getfixturevalue("real")(name)
        tiny = TinyIdx(name, (70, 62))
        tiny.publish(monkeypatch)
        tiny.write(tmp_path)
        return load(name, data_dir=tmp_path)

    return get


@pytest.mark.parametrize("name", DATASETS)
def test_the_registry_tells_the_truth(name, dataset_of):
    dataset = dataset_of(name)
    entry = DATASETS[name]
    assert entry.rows in (None, (len(dataset.train.y), len(dataset.test.y)))
    assert entry.shape == dataset.input_shape
    assert set(np.unique(dataset.train.y)) <= set(range(dataset.classes))
    assert all(int(classes) == dataset.classes for classes in re.findall(r"(\d+) classes", entry.summary))
    for examples in (dataset.train, dataset.test):
        assert len(examples.x) == len(examples.y)
        assert examples.y.dtype == np.int32
    assert (dataset.groups is not None) == ("natural clients" in entry.summary)
    assert dataset.groups is None or len(dataset.groups) == len(dataset.train.y)


@pytest.mark.parametrize("name", DATASETS)
def test_a_summary_agrees_with_its_entry(name):
    entry = DATASETS[name]
    if entry.rows is not None:
        assert f"{sum(entry.rows):,} " in entry.summary
    for side in re.findall(r"(\d+)x\1", entry.summary):
        assert entry.shape[:2] == (int(side), int(side))
    if entry.catalogue is not None:
        classes = int(re.search(r"(\d+) classes", entry.summary)[1])
        # TensorFlow Datasets counts labels of EMNIST's letters that do not occur.
        assert entry.catalogue.classes == (37 if name == "emnist_letters" else classes)
        height, width, channels = entry.catalogue.image
        assert entry.shape == ((height, width) if channels == 1 else (height, width, channels))
        assert entry.catalogue.published.name == name


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_embedded_dataset_is_the_same_every_time(name):
    first, again = load(name), load(name, source="embedded")
    jax.tree.map(np.testing.assert_array_equal, (first.train, first.test), (again.train, again.test))
    x = np.asarray(first.preprocess(first.test.x[:3], None))
    assert x.shape == (3, *first.input_shape)
    assert x.dtype == first.input_dtype
    assert np.isfinite(x).all()


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_example_is_a_dataset_of_its_own(name):
    entry = DATASETS[name]
    assert len(sources.parse(entry.example)[1]) > 0
    assert load(entry.example).name.startswith(f"{name}(")


@pytest.mark.parametrize("name", EMBEDDED)
@pytest.mark.parametrize("source", [source for source in SOURCES if source not in ("auto", "embedded")])
def test_an_embedded_dataset_has_no_other_source(name, source):
    with pytest.raises(InputError, match=f"{name} is embedded"):
        load(name, source=source)


@pytest.mark.parametrize("name", FROM_FILES)
def test_files_that_are_not_there_come_with_advice(name, tmp_path):
    entry = DATASETS[name]
    assert entry.advice in sources.describe(name, tmp_path)
    with pytest.raises(InputError) as refusal:
        load(name, source="files", data_dir=tmp_path)
    assert entry.advice in str(refusal.value)


def test_the_digits_of_the_registry_are_those_of_their_file():
    assert DATASETS["digits"].rows == (digits.TRAIN_ROWS, digits.TEST_ROWS)
