"""The repository's address: it stands in pyproject.toml, and `make address` writes it into badges and install cells.

Until pyproject.toml has one, there are no badges, and the install cells install the clone that the notebook is in.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COLAB = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})"
BADGE = r"\[!\[Open in Colab\]\([^)]*\)\]\([^)]*\)"
LINK = re.compile(rf"(\]\((?:\.\./)?notebooks/([\w.]+\.ipynb)\))(?: {BADGE})?")
"""A link of a page to a notebook, with the notebook's badge if it has one."""
FIRST_CELL = re.compile(rf'("source": \[\n)(?:    "{BADGE}\\n",\n    "\\n",\n)?')
"""The beginning of the first cell of a notebook, with the badge if there is one."""
INSTALL = re.compile(r"(%pip install --quiet )(?:git\+\S+?|\.\.)(?=\"|\\n)")
THE_CLONE = ".."
"""What an install cell installs without an address: the folder above the notebooks."""


def of_project(folder: Path = ROOT) -> str | None:
    """The address in pyproject.toml, or None if it has none."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project.get("urls", {}).get("Repository")


def files() -> list[Path]:
    """The pages and notebooks that may name the address."""
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("notebooks/*.ipynb"))]


def addressed(path: Path, text: str, address: str | None) -> str:
    """The text of a page or notebook with the address in each of its places, or without any."""
    if path.suffix == ".md":
        return LINK.sub(lambda found: found[1] + (f" {_badge(found[2], address)}" if address else ""), text)
    badge = f'    "{_badge(path.name, address)}\\n",\n    "\\n",\n' if address else ""
    text = FIRST_CELL.sub(lambda found: found[1] + badge, text, count=1)
    return INSTALL.sub(lambda found: found[1] + (f"git+{address}" if address else THE_CLONE), text)


def _badge(notebook: str, address: str) -> str:
    owner_and_name = address.removeprefix("https://github.com/")
    return COLAB.format(f"https://colab.research.google.com/github/{owner_and_name}/blob/main/notebooks/{notebook}")


if __name__ == "__main__":
    for path in files():
        text = path.read_text(encoding="utf-8")
        path.write_text(addressed(path, text, of_project()), encoding="utf-8")
