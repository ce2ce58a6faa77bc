"""Strictness for all tests, and the small problems they share."""

import os
from pathlib import Path

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")


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
