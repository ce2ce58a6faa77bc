"""The README is true: its example runs, its numbers are those of the results, its files exist."""

import re
import subprocess
from pathlib import Path

import pytest

from experiments import table2
from fedcos_jax.runs import files

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert float(re.search(r"accuracy ([\d.]+)%", printed)[1]) > 90


def test_table_has_the_numbers_of_the_results():
    table = README.split("| Method (paper / ours)")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| Fed")]
    shown = {row[0]: row[1:] for row in rows}
    assert list(shown) == list(table2.TABLE.methods)
    for method, cells in shown.items():
        for partition, paper, cell in zip(table2.TABLE.settings, table2.TABLE.paper[method], cells, strict=True):
            found = [
                files.read(path) for path in (ROOT / "results" / "paper" / "table2").glob(f"{partition}_*_seed0.json")
            ]
            ours = [r["last_accuracy"] for r in found if r["method"] == method and not r["variant"]]
            expected = f"{paper:.2f} / " + (f"{ours[0]:.2f}" if ours else "–")
            assert cell == expected, (method, partition)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_exist(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make ([a-z-]+)", README))))
def test_targets_exist(target):
    printed = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True).stdout
    assert f"make {target} " in printed
