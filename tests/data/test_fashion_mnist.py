"""Fashion-MNIST from its gz files."""

import gzip
import shutil

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import fashion_mnist, load
from tests.data.formats.test_idx import idx


@pytest.mark.parametrize(
    ("images", "labels", "complaint"),
    [
        (np.zeros((2, 3), np.uint8), np.zeros(2, np.uint8), "the train files in .* are not images and labels"),
        (np.zeros((2, 3, 3), np.uint8), np.zeros(3, np.uint8), "2 train images but 3 labels"),
        (np.zeros((2, 3, 3), np.uint8), np.zeros(2, np.uint8), "train-images-idx3-ubyte.gz is missing"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, images, labels, complaint):
    if not complaint.endswith("missing"):
        (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    with pytest.raises(InputError, match=complaint):
        fashion_mnist.read(tmp_path)


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
