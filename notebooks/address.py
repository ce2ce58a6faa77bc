"""Writes the repository's address, which stands in pyproject.toml, into badges and install cells: `make address`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = re.compile(
    r"((?:colab\.research\.google\.com/github/|(?:git\+|repo_url: )https://github\.com/))[\w.-]+/[\w.-]+"
)


def files() -> list[Path]:
    """Those that name the address."""
    return [ROOT / "README.md", ROOT / "mkdocs.yml", *ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb")]


def addressed(text: str) -> str:
    """The text with the address of pyproject.toml in each of its places."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    owner_and_name = project["urls"]["Repository"].removeprefix("https://github.com/")
    return PLACES.sub(rf"\g<1>{owner_and_name}", text)


if __name__ == "__main__":
    for path in files():
        path.write_text(addressed(path.read_text(encoding="utf-8")), encoding="utf-8")
