"""TensorFlow Datasets: written in its own format without TensorFlow, read through `tfds.data_source`."""

import gzip
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import load, mnist
from fedcos_jax.data.checksums import fingerprint
from fedcos_jax.data.formats import tfds
from tests.data.formats.test_idx import idx


def assert_same(found, expected) -> None:
    """Every image and label, in the original order although TFDS shuffles."""
    for split in ("train", "test"):
        (x, y), (expected_x, expected_y) = getattr(found, split), getattr(expected, split)
        np.testing.assert_array_equal(x, expected_x)
        np.testing.assert_array_equal(y, expected_y)
        assert (x.dtype, y.dtype) == (expected_x.dtype, expected_y.dtype)


@pytest.fixture
def tiny_fashion_mnist(monkeypatch, tmp_path):
    """More random images than are read at once, which pass for Fashion-MNIST."""
    rng = np.random.default_rng(0)
    for prefix, split, rows in (("train", "train", 2500), ("t10k", "test", 600)):
        images, labels = rng.integers(0, 256, (rows, 28, 28), np.uint8), rng.integers(0, 10, rows).astype(np.uint8)
        monkeypatch.setitem(mnist.FASHION_MNIST.published.rows, split, fingerprint(images, labels))
        for what, array in (("images-idx3", images), ("labels-idx1", labels)):
            path = tmp_path / "data" / f"{prefix}-{what}-ubyte.gz"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress(idx(array), 1))
    return load("fashion_mnist", source="files", data_dir=tmp_path / "data")


def test_grayscale_images_go_there_and_back(tiny_fashion_mnist, tmp_path):
    found = load("fashion_mnist", source="tfds", data_dir=tmp_path / "data")
    assert_same(found, tiny_fashion_mnist)
    assert (tmp_path / "tfds" / "fashion_mnist" / "3.0.1" / "fashion_mnist-train.array_record-00000-of-00001").is_file()

    import tensorflow_datasets

    source = tensorflow_datasets.data_source("fashion_mnist", data_dir=tmp_path / "tfds", split="test")
    assert len(source) == 600
    first = source[0]
    original = tfds.original_rows("test", 600)[0]
    np.testing.assert_array_equal(first["image"][..., 0], tiny_fashion_mnist.test.x[original])
    assert first["label"] == tiny_fashion_mnist.test.y[original]


def test_the_built_in_builder_with_tensorflow(real_data, real, tmp_path):
    """Optional: runs where TensorFlow is installed, from originals put where TFDS looks for them."""
    pytest.importorskip("tensorflow", reason="the built-in builder needs TensorFlow")
    import tensorflow_datasets

    manual = tmp_path / "tfds" / "downloads" / "manual" / "fashion_mnist"
    manual.mkdir(parents=True)
    for path in (real_data / "fashion_mnist").iterdir():
        shutil.copy(path, manual)
    builder = tensorflow_datasets.builder("fashion_mnist", data_dir=tmp_path / "tfds", file_format="array_record")
    builder.download_and_prepare()
    assert_same(load("fashion_mnist", source="tfds"), real("fashion_mnist"))


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_colour_images_are_read_by_the_built_in_description(request, monkeypatch, tmp_path, name, capfd):
    tiny = request.getfixturevalue(f"tiny_{name}")
    tiny.write("binary", tmp_path / "data")
    tiny.publish(monkeypatch)
    found = load(name, source="tfds", data_dir=tmp_path / "data")
    np.testing.assert_array_equal(found.train.x, tiny.arrays()["train_x"])
    np.testing.assert_array_equal(found.test.y, tiny.arrays()["test_y"])
    assert capfd.readouterr() == ("", "")
    assert load(name, source="auto").name == name


@pytest.mark.parametrize("module", ["tensorflow_datasets", "array_record", "importlib_resources"])
def test_without_the_extra_it_is_one_line(monkeypatch, module):
    find_spec = tfds.importlib.util.find_spec
    monkeypatch.setattr(tfds.importlib.util, "find_spec", lambda name: None if name == module else find_spec(name))
    with pytest.raises(InputError, match=re.escape(f"{module}, which is not installed: {tfds.EXTRA}; or get")):
        load("cifar10", source="tfds")


def test_records_of_tensorflow_are_not_mistaken_for_ours(tmp_path):
    folder = tmp_path / "tfds" / "cifar10" / "3.0.2"
    folder.mkdir(parents=True)
    (folder / "dataset_info.json").write_text(json.dumps({"fileFormat": "tfrecord"}))
    with pytest.raises(InputError, match="format tfrecord; prepare it again with file_format='array_record'"):
        load("cifar10", source="tfds")


def test_tfds_is_not_imported_before_it_is_needed():
    heavy = ("tensorflow_datasets", "matplotlib", "PIL")
    code = f"import sys, fedcos_jax.cli.main; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
