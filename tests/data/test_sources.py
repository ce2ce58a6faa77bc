"""Where datasets are found: files, the cache, TensorFlow Datasets; and one line about each mistake."""

import time

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import cache, load, sources


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "cifar"}, "unknown dataset 'cifar'; did you mean 'cifar10'"),
        ({"name": "sinthetic(1,1)"}, "did you mean 'synthetic'"),
        ({"name": "cifar10(3)"}, "takes no numbers"),
        ({"name": "digits", "source": "web"}, "unknown source 'web'"),
        ({"name": "digits", "source": "tfds"}, "digits is embedded"),
        ({"name": "cifar10", "source": "embedded"}, "cifar10 is not embedded"),
        ({"name": "cifar10", "source": "files"}, "FEDCOS_DATA_DIR and --data-dir are not set"),
        ({"name": "shakespeare", "source": "tfds"}, "not in TensorFlow Datasets: get t8.shakespeare.txt"),
        ({"name": "shakespeare"}, "shakespeare was not found"),
        ({"name": "cifar10", "data_dir": "no/such/folder"}, "no/such/folder does not exist"),
    ],
)
def test_mistakes_are_one_line(arguments, complaint):
    with pytest.raises(InputError) as refusal:
        load(**arguments)
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_folder_is_the_given_one_or_that_of_the_variable(monkeypatch, tmp_path):
    assert sources.data_directory() is None
    monkeypatch.setenv(sources.DATA_DIR_VARIABLE, str(tmp_path))
    assert sources.data_directory() == tmp_path
    (tmp_path / "other").mkdir()
    assert sources.data_directory(tmp_path / "other") == tmp_path / "other"


def test_a_damaged_entry_without_its_files_is_named(tmp_path):
    kept = tmp_path / "cache" / f"v{cache.VERSION}" / "cifar10-kept"
    kept.mkdir(parents=True)
    with pytest.raises(InputError, match="cifar10-kept is damaged: delete it and prepare it again"):
        load("cifar10")


def test_the_cache_serves_after_the_files_are_gone(monkeypatch, tmp_path, tiny_cifar10):
    paths = tiny_cifar10.write("binary", tmp_path / "data")
    tiny_cifar10.publish(monkeypatch)
    load("cifar10", data_dir=tmp_path / "data")
    for path in paths:
        path.unlink()
    np.testing.assert_array_equal(load("cifar10").train.x, tiny_cifar10.arrays()["train_x"])
    with pytest.raises(InputError, match="not found"):
        load("cifar10", source="files", data_dir=tmp_path / "data")


@pytest.mark.parametrize("name", ["fashion_mnist", "cifar10", "cifar100", "shakespeare"])
def test_the_second_load_takes_less_than_a_second(real_data, real, tmp_path_factory, monkeypatch, name):
    first = real(name)
    place = next(path for path in tmp_path_factory.getbasetemp().glob("cache*"))
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(place))
    fastest = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        again = load(name, source="files", data_dir=real_data)
        fastest = min(fastest, time.perf_counter() - started)
    assert fastest < 1
    np.testing.assert_array_equal(again.train.x, first.train.x)


def test_a_stray_file_does_not_hide_what_is_prepared(tmp_path):
    """`manifest.json` belongs to one form of CIFAR10. Alone it is a mistake only if no other place has the dataset."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="is incomplete"):
        sources.locate("cifar10", "auto", folder)
    kept = tmp_path / "cache" / f"v{cache.VERSION}" / "cifar10-kept"
    kept.mkdir(parents=True)
    assert sources.locate("cifar10", "auto", folder).entry == kept
    with pytest.raises(InputError, match="is incomplete"):
        sources.locate("cifar10", "files", folder)
