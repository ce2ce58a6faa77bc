"""The documentation is true: it builds strictly, its code runs, and the tests, commands and lines it names exist."""

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
import types
from pathlib import Path

import jax
import pytest

from fedcos_jax.cli.main import parser
from fedcos_jax.labels import METHODS, WRAPPERS

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def text_of(page):
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def read(path):
    return path.read_text(encoding="utf-8")


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
    rooms = list((tmp_path / "api").glob("*.html"))
    assert len(rooms) == 6
    assert sum(page.read_text(encoding="utf-8").count('id="fedcos_jax.') for page in rooms) > 100
    assert not re.search(
        r'(?:href|src)="(?:\.\./)+(?:fedcos_jax|results)/', "".join(map(read, tmp_path.rglob("*.html")))
    )
    for picture in (tmp_path / "images").glob("*.png"):
        assert picture.read_bytes() == (ROOT / "results" / "paper" / "figures" / picture.name).read_bytes()
    assert (tmp_path / "images" / "hero.png").exists()


LINK = "[`run`](../fedcos_jax/engine/loop.py#L166) and [results/a.md](../results/a.md)"


@pytest.mark.parametrize(
    ("address", "page"),
    [
        (None, "`run` (`fedcos_jax/engine/loop.py:166`) and results/a.md"),
        (
            "https://github.com/a/b",
            "[`run`](https://github.com/a/b/blob/main/fedcos_jax/engine/loop.py#L166) and "
            "[results/a.md](https://github.com/a/b/blob/main/results/a.md)",
        ),
    ],
)
def test_links_leave_the_site_only_with_an_address(address, page):
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    config = types.SimpleNamespace(repo_url=address)
    assert hooks["on_page_markdown"](LINK, config) == page
    assert hooks["on_page_markdown"]("![a](../results/paper/figures/hero.png)", config) == "![a](images/hero.png)"


@pytest.mark.parametrize("page", ["index", "tutorial", "extending", "scaling"])
def test_code_runs(page):
    known = {id(registry): set(registry) for registry in (METHODS, WRAPPERS)}
    blocks = re.findall(r"```python\n(.*?)```", text_of(page), flags=re.DOTALL)
    try:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # as a reader's JAX is set
            exec(compile("\n".join(blocks), page, "exec"), {})
    finally:
        for registry in (METHODS, WRAPPERS):
            for name in set(registry) - known[id(registry)]:  # what the page has registered
                del registry[name]


def test_the_tests_behind_the_promises_exist():
    text = text_of("reliability")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", text)
    assert len(named) > 15
    assert [name for name in named if f"def {name}(" not in sources] == []
    assert [path for path in re.findall(r"`(tests/[\w/.]+)`", text) if not (ROOT / path).exists()] == []


COMMANDS = [line for page in [*PAGES, ROOT / "README.md"] for line in page.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("line", sorted({line for line in COMMANDS if re.match(r"fedcos \w+", line)}))
def test_commands_are_understood(line):
    words = shlex.split(line, comments=True)
    parser().parse_args([word for word in words[1:] if word != "..."])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_of_the_repository_exist(page):
    links = re.findall(r"\]\(\.\./([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def definitions(path):
    """Name -> line of every function and class of a file. Names defined twice have the first line."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]
    return {node.name: node.lineno for node in sorted(found, key=lambda node: -node.lineno)}


LINE_LINKS = [
    (page.name, *link)
    for page in PAGES
    for link in re.findall(r"\[`([^`]+)`\]\(\.\./([\w/]+\.py)#L(\d+)\)", page.read_text(encoding="utf-8"))
]


def test_lines_are_those_of_the_functions():
    """The text of a link like [`run`](../fedcos_jax/engine/loop.py#L171) is the name that is defined on that line."""
    assert len(LINE_LINKS) > 20
    wrong = []
    for page, name, path, line in LINE_LINKS:
        right = definitions(ROOT / path).get(name)
        if right is None:
            wrong.append(f"docs/{page}: {path} does not define {name}")
        elif right != int(line):
            wrong.append(f"docs/{page}: {name} of {path} is on line {right}, not {line}: write {path}#L{right}")
    assert not wrong, "\n".join(dict.fromkeys(wrong))
