"""The MNIST family: idx files by hand, EMNIST's archive, and the real Fashion-MNIST."""

import gzip
import shutil

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import DATASETS, load, mnist
from tests.data.formats.test_idx import idx
from tests.data.tiny_idx import ROWS, TinyIdx

NAMES = [variant.name for variant in mnist.VARIANTS]
EMNIST = [name for name in NAMES if name.startswith("emnist")]


def assert_is(dataset, tiny):
    """Images upright and labels from 0."""
    for examples, images, labels in zip((dataset.train, dataset.test), tiny.images, tiny.labels, strict=True):
        upright = images.transpose(0, 2, 1) if tiny.variant.name in EMNIST else images
        np.testing.assert_array_equal(examples.x, upright)
        assert examples.x.dtype == np.uint8
        first = 1 if tiny.variant.name == "emnist_letters" else 0
        np.testing.assert_array_equal(examples.y, labels.astype(np.int32) - first)


@pytest.mark.parametrize("name", NAMES)
def test_idx_files_are_read(monkeypatch, tmp_path, name):
    tiny = TinyIdx(name)
    tiny.publish(monkeypatch)
    tiny.write(tmp_path / name)
    dataset = load(name, source="files", data_dir=tmp_path)
    assert_is(dataset, tiny)
    assert (dataset.name, dataset.classes, dataset.input_shape) == (name, tiny.variant.classes, (28, 28))
    shutil.rmtree(tmp_path / name)
    assert_is(load(name), tiny)  # from the cache


@pytest.mark.parametrize("place", ["MNIST/raw", "."])
def test_the_folders_of_torchvision_and_data_itself_are_found(monkeypatch, tmp_path, place):
    tiny = TinyIdx("mnist")
    tiny.publish(monkeypatch)
    tiny.write(tmp_path / place)
    assert_is(load("mnist", data_dir=tmp_path), tiny)


@pytest.mark.parametrize("name", EMNIST)
@pytest.mark.parametrize("place", ["emnist", "EMNIST/raw"])
def test_emnists_archive_is_read_without_unpacking_it(monkeypatch, tmp_path, name, place):
    tiny = TinyIdx(name)
    tiny.publish(monkeypatch)
    folder = tiny.write_archive(tmp_path / place)
    assert_is(load(name, data_dir=tmp_path), tiny)
    assert [path.name for path in folder.iterdir()] == ["gzip.zip"]


def test_another_archive_is_refused(tmp_path, cached):
    TinyIdx("emnist").write_archive(tmp_path / "emnist")
    with pytest.raises(InputError, match=r"gzip.zip is not the published file: its SHA256"):
        load("emnist", data_dir=tmp_path)
    assert cached() == []


@pytest.mark.parametrize("name", ["mnist", "kmnist"])
def test_files_of_another_dataset_are_refused(tmp_path, cached, name):
    TinyIdx("fashion_mnist").write(tmp_path)
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte.gz is not the published file"):
        load(name, data_dir=tmp_path)
    assert cached() == []


def harmed(monkeypatch, tmp_path, name, file, array):
    """Loads a dataset of which one file holds another array. Its files have no known digests."""
    tiny = TinyIdx(name)
    tiny.variant.published.files.clear()
    tiny.files[tiny.variant.files[file]] = gzip.compress(idx(array))
    tiny.publish(monkeypatch)
    tiny.write(tmp_path)
    load(name, data_dir=tmp_path)


@pytest.mark.parametrize(
    ("file", "array", "complaint"),
    [
        (0, np.zeros((2, 3), np.uint8), "the train files in .* are not images and labels"),
        (1, np.zeros(3, np.uint8), "30 train images but 3 labels"),
        (2, np.zeros((12, 28, 27), np.uint8), r"have the shape \(12, 28, 27\) instead of \(12, 28, 28\)"),
        (3, np.zeros(12, np.uint8), "the test labels of emnist_letters in .* are 0 to 0 instead of 1 to 26"),
        (3, np.full(12, 27, np.uint8), "are 27 to 27 instead of 1 to 26"),
    ],
)
def test_files_that_do_not_fit_are_refused(monkeypatch, tmp_path, cached, file, array, complaint):
    with pytest.raises(InputError, match=complaint):
        harmed(monkeypatch, tmp_path, "emnist_letters", file, array)
    assert cached() == []


def test_a_part_of_the_rows_is_refused(monkeypatch, tmp_path):
    tiny = TinyIdx("emnist_digits")
    tiny.variant = tiny.variant._replace(rows=(ROWS[0] + 1, ROWS[1]))
    tiny.publish(monkeypatch)
    tiny.write(tmp_path)
    with pytest.raises(InputError, match=r"train images of emnist_digits .* \(30, 28, 28\) instead of \(31, 28, 28\)"):
        load("emnist_digits", data_dir=tmp_path)


@pytest.mark.parametrize("name", ["kmnist", "emnist_letters"])
def test_there_and_back_through_tensorflow_datasets(monkeypatch, tmp_path, name):
    tiny = TinyIdx(name)
    tiny.publish(monkeypatch)
    tiny.write(tmp_path / "data")
    assert_is(load(name, source="tfds", data_dir=tmp_path / "data"), tiny)
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(tmp_path / "another"))
    assert_is(load(name), tiny)  # now it is prepared
    assert (tmp_path / "tfds" / DATASETS[name].catalogue.name).is_dir()


def test_the_real_images(real):
    dataset = real("fashion_mnist")
    assert (dataset.train.x.shape, dataset.test.x.shape) == ((60_000, 28, 28), (10_000, 28, 28))
    assert np.bincount(dataset.train.y).tolist() == [6000] * 10
    assert np.bincount(dataset.test.y).tolist() == [1000] * 10
    assert dataset.train.y[:10].tolist() == [9, 0, 0, 3, 0, 2, 7, 2, 5, 5]
    assert dataset.train.x.dtype == np.uint8
    scaled = dataset.preprocess(dataset.train.x[:100], None)
    assert (float(scaled.min()), float(scaled.max())) == (-1.0, 1.0)


def test_swapped_labels_are_refused_and_nothing_is_cached(real_data, tmp_path, cached):
    folder = tmp_path / "data" / "fashion_mnist"
    shutil.copytree(real_data / "fashion_mnist", folder)
    path = folder / "t10k-labels-idx1-ubyte.gz"
    path.chmod(0o644)
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[8], content[9] = content[9], content[8]
    path.write_bytes(gzip.compress(content))
    with pytest.raises(InputError, match=r"test images or labels of fashion_mnist in .* are not the published ones"):
        load("fashion_mnist", source="files", data_dir=tmp_path / "data")
    assert cached() == []
