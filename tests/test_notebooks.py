"""The notebooks run from a clean kernel and are stored with their outputs."""

import re
from pathlib import Path

import nbformat
import pytest

from notebooks import address, outputs

NOTEBOOKS = outputs.files()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path):
    assert list(outputs.faults(outputs.run(path))) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_complete(path):
    assert list(outputs.faults(nbformat.read(path, as_version=4))) == []


def _stored(*results, **changes):
    """A notebook of one cell with a picture and these outputs."""
    picture = nbformat.v4.new_output("display_data", {"image/png": "aGVsbG8="})
    cell = nbformat.v4.new_code_cell("1", execution_count=1, outputs=[picture, *results], **changes)
    return nbformat.v4.new_notebook(cells=[cell], metadata=outputs.METADATA)


def _text(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (nbformat.v4.new_output("error", ename="ValueError", evalue="", traceback=[]), "ends in an error: ValueError"),
        (_text("UserWarning: no", name="stderr"), "has warnings or a progress bar"),
        (_text("  5%|#\r 10%|##"), "shows a progress bar"),
        (_text("Traceback (most recent call last):"), "shows a traceback"),
        (_text("saved in /home/ann/model"), "names a place of one machine: /home/"),
        (nbformat.v4.new_output("execute_result", {"text/plain": "<X at 0x7f3a2b1c>"}), "names a place of one machine"),
        (
            nbformat.v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": {}}),
            "stores application",
        ),
    ],
)
def test_an_output_that_must_not_be_stored(result, fault):
    (found,) = outputs.faults(_stored(result))
    assert found.startswith(f"cell 1 {fault}")


def test_a_notebook_that_must_not_be_stored():
    assert list(outputs.faults(_stored())) == []
    (found,) = outputs.faults(_stored(_text("x" * outputs.MOST_BYTES)))
    assert "bytes, more than 600,000" in found
    (found,) = outputs.faults(_stored(metadata={"execution": {"iopub.execute_input": "2022-04-07T00:00:00"}}))
    assert found == "its metadata say more than the kernel's name"
    skipped = _stored()
    skipped.cells[0].execution_count = 3
    assert list(outputs.faults(skipped)) == ["its cells have not all been run in order"]
    empty = _stored()
    empty.cells[0].outputs = []
    assert list(outputs.faults(empty)) == ["it shows no picture"]


def test_pytorch_agrees():
    """The stored outputs are those of a machine with PyTorch, whose global model agreed to rounding."""
    notebook = nbformat.read(outputs.FOLDER / "05_bring_your_pytorch_experiment.ipynb", as_version=4)
    text = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "not installed" not in text
    differences = [float(number) for number in re.findall(r"largest difference (\S+)", text)]
    assert len(differences) == 4
    assert 0 < max(differences) < 1e-5


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
