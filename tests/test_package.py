"""What is shipped: a wheel that installs and runs, a version from one place, a citation, hooks that work."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import fedcos_jax
from fedcos_jax.runs import files

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta as b; print(b.build_wheel({0!r})); print(b.build_sdist({0!r}))"


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """Wheel and sdist, made from a copy of what git knows, so that nothing is left in the repository."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    for name in listed.stdout.splitlines():
        if re.match(r"fedcos_jax/|pyproject|README|LICENSE", name) and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-c", BUILD.format(str(dist))], cwd=source, check=True, capture_output=True)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    return wheel, sdist


def test_contents(distributions):
    wheel, sdist = distributions
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "fedcos_jax").rglob("*.py")}
    assert modules <= set(names)
    assert "fedcos_jax/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names} == {"fedcos_jax", f"fedcos_jax-{fedcos_jax.__version__}.dist-info"}
    with tarfile.open(sdist) as archive:
        shipped = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert modules | {"pyproject.toml", "README.md", "LICENSE"} <= shipped


def test_installs_and_runs_in_a_fresh_environment(distributions, tmp_path):
    wheel, _ = distributions
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = Path(
        subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[0])"], text=True).strip()
    )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True, env=environment)
    # The packages it needs are those of the running environment; its own installation comes first.
    packages = [path for path in sys.path if path.endswith("-packages")]
    (site / "others.pth").write_text("\n".join(packages))
    command = [tmp_path / "venv" / "bin" / "fedcos", "run", "--quiet", "--rounds", "1", "--local-steps", "2"]
    run = subprocess.run(
        [*command, "--out", "r.json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "after 1 rounds" in run.stdout
    assert files.read(tmp_path / "r.json")["versions"]["fedcos-jax"] == fedcos_jax.__version__
    where = subprocess.check_output(
        [python, "-c", "import fedcos_jax; print(fedcos_jax.__file__)"], cwd=tmp_path, env=environment, text=True
    )
    assert Path(where.strip()).is_relative_to(tmp_path)


def test_version_stands_in_one_place():
    tracked = [
        ROOT / "pyproject.toml",
        ROOT / "CITATION.cff",
        ROOT / "mkdocs.yml",
        *(ROOT / "fedcos_jax").rglob("*.py"),
    ]
    named = [path.name for path in tracked if f'"{fedcos_jax.__version__}"' in path.read_text(encoding="utf-8")]
    assert named == ["__init__.py"]


def test_citation_is_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert [author["family-names"] for author in citation["preferred-citation"]["authors"]] == [
        "Zhang",
        "Wu",
        "Cheng",
        "Liu",
    ]
    assert citation["preferred-citation"]["title"] in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_hooks_use_pinned_tools():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    pinned = {line.split("==")[0] for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()}
    for repository in config["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            tool = hook["entry"].split()[0].removeprefix(".venv/bin/")
            assert tool == "git" or tool in pinned
