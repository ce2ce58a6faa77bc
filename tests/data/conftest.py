"""A place of its own for every test, the real datasets, and tiny ones."""

from functools import cache

import pytest

from fedcos_jax.data import cifar, load
from tests.data.tiny_cifar import TinyCifar


@pytest.fixture(autouse=True)
def own_places(monkeypatch, tmp_path):
    """The caches lie inside the test's own folder, and only `real_data` sees the data of this machine."""
    monkeypatch.delenv("FEDCOS_DATA_DIR", raising=False)
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))


@pytest.fixture(scope="session")
def real(real_data, tmp_path_factory):
    """(name) -> the real dataset, decoded once per session."""
    place = str(tmp_path_factory.mktemp("cache"))

    @cache
    def get(name: str):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FEDCOS_CACHE_DIR", place)
            return load(name, source="files", data_dir=real_data)

    return get


@pytest.fixture
def cached(tmp_path):
    """() -> names of everything in the cache, drafts included."""
    return lambda: sorted(path.name for path in (tmp_path / "cache").glob("v*/*"))


@pytest.fixture
def tiny_cifar10() -> TinyCifar:
    return TinyCifar(cifar.CIFAR10)


@pytest.fixture
def tiny_cifar100() -> TinyCifar:
    return TinyCifar(cifar.CIFAR100)
