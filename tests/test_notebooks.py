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
def test_installs_only_where_the_package_is_missing(path):
    install = nbformat.read(path, as_version=4).cells[1].source
    condition, command = install.splitlines()[-2:]
    assert condition == 'if importlib.util.find_spec("fedcos_jax") is None:'
    assert command.startswith("    %pip install --quiet ")


@pytest.mark.parametrize("path", address.files(), ids=lambda path: path.name)
def test_address_is_that_of_the_project(path):
    """`make address` has nothing to do."""
    text = path.read_text(encoding="utf-8")
    assert address.addressed(path, text, address.of_project()) == text


def test_no_place_names_an_address_that_the_project_does_not_have():
    """Every link to a repository of this name, in badges, install cells and pages, is the project's."""
    for path in [*address.files(), address.ROOT / "mkdocs.yml", address.ROOT / "pyproject.toml"]:
        named = set(re.findall(r"github(?:\.com)?/([\w.-]+/fedcos_jax)", path.read_text(encoding="utf-8")))
        assert named <= {str(address.of_project()).removeprefix("https://github.com/")}, path


@pytest.mark.parametrize("path", address.files(), ids=lambda path: path.name)
def test_an_address_comes_and_goes(path):
    """With an address there are badges and install cells that use it. Without one the text is as before."""
    text = path.read_text(encoding="utf-8")
    plain = address.addressed(path, text, None)
    filled = address.addressed(path, plain, "https://github.com/someone/fedcos_jax")
    assert address.addressed(path, filled, None) == plain
    assert address.addressed(path, filled, "https://github.com/someone/fedcos_jax") == filled
    listed = set(re.findall(r"notebooks/([\w.]+\.ipynb)\)", plain)) if path.suffix == ".md" else {path.name}
    opened = re.findall(r"github/someone/fedcos_jax/blob/main/notebooks/([\w.]+\.ipynb)\)", filled)
    assert set(opened) == listed
    if path.suffix == ".ipynb":
        assert "%pip install --quiet git+https://github.com/someone/fedcos_jax" in filled
        assert nbformat.reads(filled, as_version=4).cells[0].source.startswith("[![Open in Colab]")


def test_the_address_is_read_from_the_project(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "x"\n')
    assert address.of_project(tmp_path) is None
    project.write_text('[project]\nname = "x"\n[project.urls]\nRepository = "https://github.com/a/b"\n')
    assert address.of_project(tmp_path) == "https://github.com/a/b"


def test_the_readme_lists_them():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(notebooks/([\w.]+)\)", readme) == [path.name for path in NOTEBOOKS] != []
