"""Fashion-MNIST from its gz files."""

import gzip
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import InputError
from fedcos_jax.data import fashion_mnist, load


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@settings(deadline=None)
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 100))
def test_an_idx_file_is_read_back(tmp_path_factory, shape, seed):
    array = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    path = tmp_path_factory.mktemp("idx") / "file.gz"
    path.write_bytes(gzip.compress(idx(array)))
    np.testing.assert_array_equal(fashion_mnist.read_idx(path), array)


ZEROS = idx(np.zeros((20, 30), np.uint8))
BROKEN = {
    "not gzip": b"not gzip",
    "empty": b"",
    "nothing inside": gzip.compress(b""),
    "a value too few": gzip.compress(ZEROS[:-1]),
    "a value too many": gzip.compress(ZEROS + b"x"),
    "not bytes": gzip.compress(bytes([0, 0, 13, 1]) + bytes(8)),
    "half a header": gzip.compress(bytes([0, 0, 8, 3, 0, 0])),
    "truncated": gzip.compress(ZEROS)[:-9],
}


@pytest.mark.parametrize("harm", BROKEN)
def test_a_broken_idx_file_is_one_line(tmp_path, harm):
    path = tmp_path / "file.gz"
    path.write_bytes(BROKEN[harm])
    with pytest.raises(InputError) as refusal:
        fashion_mnist.read_idx(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


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
