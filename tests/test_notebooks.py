"""The notebooks run from a clean kernel and are stored without outputs."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from notebooks import address

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, monkeypatch):
    # A notebook computes for longer than it compiles, so XLA optimizes its programs as it does for a reader.
    monkeypatch.delenv("XLA_FLAGS")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_has_no_outputs(path):
    cells = nbformat.read(path, as_version=4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_opens_in_colab_and_installs_there_only(path):
    badge, install = (cell.source for cell in nbformat.read(path, as_version=4).cells[:2])
    assert f"/blob/main/notebooks/{path.name})" in badge.splitlines()[0]
    condition, command = install.splitlines()[-2:]
    assert condition == 'if importlib.util.find_spec("fedcos_jax") is None:'
    assert re.fullmatch(r"    %pip install --quiet git\+https://github.com/[\w.-]+/[\w.-]+", command)


@pytest.mark.parametrize("path", address.files(), ids=lambda path: path.name)
def test_address_is_that_of_the_project(path):
    """`make address` has nothing to do."""
    text = path.read_text(encoding="utf-8")
    assert address.addressed(text) == text


def test_the_readme_lists_them():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(notebooks/([\w.]+)\)", readme) == [path.name for path in NOTEBOOKS] != []
