"""The cache of decoded datasets: entries are whole or absent, also when several processes write them at once."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import cache

ARRAYS = {"x": np.arange(12, dtype=np.uint8).reshape(3, 4), "y": np.array([1, 2, 3], np.int32)}


def forbidden():
    pytest.fail("decoded again")


def test_arrays_come_back_without_decoding(tmp_path):
    entry = tmp_path / "cache" / "v1" / "some"
    assert cache.read_or_prepare(entry, lambda: ARRAYS) is ARRAYS
    back = cache.read_or_prepare(entry, forbidden)
    assert back.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype


def test_a_failure_leaves_nothing(cached, tmp_path):
    def fail():
        raise InputError("broken")

    with pytest.raises(InputError):
        cache.read_or_prepare(tmp_path / "cache" / "v1" / "some", fail)
    assert cached() == []


def test_a_damaged_entry_is_made_again(tmp_path):
    entry = tmp_path / "cache" / "v1" / "some"
    cache.write(entry, ARRAYS)
    (entry / "x.npy").write_bytes((entry / "x.npy").read_bytes()[:-3])
    np.testing.assert_array_equal(cache.read_or_prepare(entry, lambda: ARRAYS)["x"], ARRAYS["x"])
    np.testing.assert_array_equal(cache.read_or_prepare(entry, forbidden)["x"], ARRAYS["x"])


def test_the_key_follows_the_files_and_the_version(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"one")
    first = cache.entry_path("name", [file])
    assert cache.entry_path("name", [file]) == first
    file.write_bytes(b"three")
    second = cache.entry_path("name", [file])
    os.utime(file, (1, 1))
    third = cache.entry_path("name", [file])
    monkeypatch.setattr(cache, "VERSION", cache.VERSION + 1)
    assert len({first, second, third, cache.entry_path("name", [file]), cache.entry_path("other", [file])}) == 5


def test_places(monkeypatch, tmp_path):
    assert cache.cache_directory() == tmp_path / "cache"
    monkeypatch.delenv("FEDCOS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_directory() == tmp_path / "xdg" / "fedcos"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.cache_directory() == tmp_path / "home" / ".cache" / "fedcos"


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(tmp_path / "file"))
    assert cache.read_or_prepare(cache.entry_path("name", []), lambda: ARRAYS) is ARRAYS


WORKER = """
import sys, time
from pathlib import Path
import numpy as np
from fedcos_jax.data import cache
folder, rank = Path(sys.argv[1]), int(sys.argv[2])
(folder / f"ready{rank}").touch()
while len(list(folder.glob("ready*"))) < 2:
    time.sleep(0.01)
for turn in range(30):
    arrays = cache.read_or_prepare(folder / "v1" / f"entry{turn}", lambda: {"x": np.full((300, 300), turn)})
    assert (arrays["x"] == turn).all() and arrays["x"].shape == (300, 300)
"""


def test_processes_at_once_do_no_harm(tmp_path):
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), str(rank)]) for rank in range(2)]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    assert sorted(path.name for path in (tmp_path / "v1").iterdir()) == sorted(f"entry{turn}" for turn in range(30))
