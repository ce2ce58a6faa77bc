"""The rooms of the package: imports go one way, nothing is hidden, and every module has its tests."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import fedcos_jax

ROOT = Path(__file__).parents[1]
LAYERS = (
    ("errors", "types"),
    ("tree", "ops"),
    ("penalties", "aggregation"),
    ("optimizers",),
    ("methods",),
    ("labels", "data", "models"),
    ("engine",),
    ("runs", "toy"),
    ("cli",),
)
"""The rooms of docs/walk.md, in the order in which they may import each other."""
EXPERIMENTS = (("declare",), ("store",), ("run",), ("tables",), ("pages", "figures"), ("reproduce",))
"""Figures and pages may import each other: a page shows figures, and a figure is made of panels of a page."""


def imported(path, package):
    """The rooms of the package that a file imports from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith(f"{package}."))


@pytest.mark.parametrize(("package", "layers"), [("fedcos_jax", LAYERS), ("experiments", EXPERIMENTS)])
def test_imports_go_one_way(package, layers):
    places = {room: place for place, rooms in enumerate(layers) for room in rooms}
    for path in sorted((ROOT / package).rglob("*.py")):
        room = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in places, f"LAYERS does not say where {room} belongs"
        above = [other for other in imported(path, package) if places.get(other, -1) > places[room]]
        assert not above, f"{path.relative_to(ROOT)} imports {above}, which come after {room}"


def test_the_package_knows_nothing_of_what_is_built_on_it():
    for path in (ROOT / "fedcos_jax").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import experiments" not in text, path
        assert "from experiments" not in text, path


def modules():
    found = pkgutil.walk_packages(fedcos_jax.__path__, "fedcos_jax.")
    return sorted(module.name for module in found if not module.name.endswith("__main__"))


@pytest.mark.parametrize("name", modules())
def test_no_module_is_hidden_by_a_name(name):
    importlib.import_module(name)
    package, _, module = name.rpartition(".")
    assert isinstance(getattr(importlib.import_module(package), module), types.ModuleType)


def test_every_module_has_its_tests():
    for path in sorted((ROOT / "fedcos_jax").rglob("*.py")):
        if path.name.startswith("__"):
            continue
        folder = path.relative_to(ROOT / "fedcos_jax").parent
        assert (ROOT / "tests" / folder / f"test_{path.name}").exists(), f"{path.relative_to(ROOT)} has no test file"


def test_no_test_reaches_into_another_module():
    """Private names may be patched by name, as `_TICK_SECONDS` is, but not imported."""
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                private = [
                    alias.name for alias in node.names if alias.name.startswith("_") and alias.name != "__main__"
                ]
                assert not private, f"{path.relative_to(ROOT)} imports {private}"


def test_an_import_does_not_start_jax():
    """The devices are chosen after the imports, so nothing may compute while the modules are read."""
    program = (
        "import fedcos_jax.cli.main, experiments.reproduce\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge.backends_are_initialized()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)


def test_every_public_name_says_what_it_is():
    for name in fedcos_jax.__all__:
        value = getattr(fedcos_jax, name)
        assert isinstance(value, dict) or value.__doc__, name
