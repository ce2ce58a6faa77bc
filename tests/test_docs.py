"""The documentation is true: it builds strictly, its code runs, the tests and commands it names exist."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fedcos_jax.cli.fedcos import fedcos
from fedcos_jax.methods import METHODS

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_builds_strictly(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    build = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stderr
    method = (tmp_path / "method.html").read_text(encoding="utf-8")
    assert "#fedcos_jax.penalties.cosine" in method
    formulas = re.findall(r"<math .*?</math>", method, flags=re.DOTALL)
    assert len(formulas) > 30
    assert "arithmatex" not in method
    assert not any("\\" in formula for formula in formulas)  # each command of LaTeX has been understood
    assert (tmp_path / "api.html").read_text(encoding="utf-8").count('id="fedcos_jax.') > 100


@pytest.mark.parametrize("page", ["tutorial", "extending"])
def test_code_runs(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    known = set(METHODS)
    try:
        exec(compile("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)), page, "exec"), {})
    finally:
        for name in set(METHODS) - known:  # what the page has registered
            del METHODS[name]


def test_the_tests_behind_the_promises_exist():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", text)
    assert len(named) > 15
    assert [name for name in named if f"def {name}(" not in sources] == []


COMMANDS = [line for page in [*PAGES, ROOT / "README.md"] for line in page.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("line", sorted({line for line in COMMANDS if re.match(r"fedcos \w+", line)}))
def test_commands_are_understood(line):
    words = shlex.split(line, comments=True)
    fedcos.parser().parse_args([word for word in words[1:] if word != "..."])
