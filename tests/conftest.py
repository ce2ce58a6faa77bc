"""Strictness for all tests, and the small problems they share."""

import os
from pathlib import Path

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
os.environ["FEDCOS_COMPILATION_CACHE"] = "off"  # some tests count compilations


@pytest.fixture(autouse=True)
def own_places(monkeypatch, tmp_path_factory):
    """No test sees or fills the prepared data of this machine."""
    place = tmp_path_factory.mktemp("prepared")
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(place / "cache"))
    monkeypatch.setenv("TFDS_DATA_DIR", str(place / "tfds"))


@pytest.fixture
def x64():
    """Double precision, for comparisons with NumPy."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets; the test is skipped where there is none."""
    folder = os.environ.get("FEDCOS_DATA_DIR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real datasets: set FEDCOS_DATA_DIR")
    return Path(folder)
