"""The README is true: its examples run, its numbers are those of the results, its files exist."""

import json
import re
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

from experiments.figures import hero
from experiments.store import stored
from experiments.tables.table2 import TABLE
from fedcos_jax.runs import files

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PEERS = "| | fedcos_jax |"
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def rows_of(heading, page=README):
    """The cells of each row of the table whose first line begins with the heading."""
    table = page.split(heading)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_examples_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert examples
    names = {}
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # as a reader's JAX is set
        for example in examples:
            exec(compile(example, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert float(re.search(r"accuracy ([\d.]+)%", printed)[1]) > 90


def test_table_has_the_numbers_of_the_results():
    shown = {row[0]: row[1:] for row in rows_of("| Method (paper / ours)")}
    assert list(shown) == list(TABLE.methods)
    for method, cells in shown.items():
        for partition, paper, cell in zip(TABLE.settings, TABLE.paper[method], cells, strict=True):
            found = [
                files.read(path) for path in (ROOT / "results" / "paper" / "table2").glob(f"{partition}_*_seed0.json")
            ]
            ours = [r["last_accuracy"] for r in found if r["method"] == method and not r["variant"]]
            expected = f"{paper:.2f} / " + (f"{ours[0]:.2f}" if ours else "–")
            assert cell == expected, (method, partition)


def test_the_hero_has_the_numbers_of_its_runs():
    """Means over the seeds of the last round, and the round of FedCos that is as good as FedAvg's last."""
    found = {m: stored(hero.TABLE, "paper", ROOT / "results", "sorted", m) for m in hero.TABLE.methods}
    averaged, enhanced = (np.mean([r["history"]["accuracy"] for r in results], axis=0) for results in found.values())
    assert {len(results) for results in found.values()} == {hero.FIGURE.seeds} == {3}
    assert all(r["config"]["epsilon"] == 1e-4 and r["rounds"] == 50 for results in found.values() for r in results)
    reached = 1 + int(np.argmax(enhanced >= averaged[-1]))
    words = f"FedCos(0.02) ends at {enhanced[-1]:.1f}%, FedAvg at {averaged[-1]:.1f}%, and FedCos is at "
    words += f"{averaged[-1]:.1f}% after {reached} rounds"
    for page in (README, INDEX):
        assert words in " ".join(page.split())


def test_results_come_after_at_most_two_screens():
    assert README[: README.index("hero.png")].count("\n") < 20
    assert README[: README.index("## The paper's numbers")].count("\n") < 100


@pytest.mark.parametrize("page", [README, INDEX], ids=["README", "index"])
def test_peers_have_the_numbers_of_the_benchmark(page):
    kept = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text(encoding="utf-8"))
    seconds = {(run["job"], run["library"]): run["round_seconds"] for run in kept}
    shown = [row for row in rows_of(PEERS, page) if row[0].startswith(("MLP", "CNN"))]
    assert len(shown) == 4
    for name, *cells in shown:
        job = "-".join(re.findall(r"mlp|cnn|\d+", name.lower()))
        times = [seconds[job, library] for library in ("ours", "pfl", "fedjax", "torch", "flower")]
        own, *others = times
        expected = [f"**{1 / own:.2f}**", *(f"{1 / time:.2f} ({time / own:.1f})" for time in others)]
        assert cells == expected, name


def test_performance_begins_with_the_same_ratios():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    ratios = {row[0]: [re.search(r"\(([\d.]+)\)", cell)[1] for cell in row[2:]] for row in rows_of(PEERS)[:4]}
    assert {row[0]: row[1:] for row in rows_of("| | pfl 0.6.0 |", page)} == ratios


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README))
def test_links_exist(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make ([a-z-]+)", README))))
def test_targets_exist(target):
    printed = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True).stdout
    assert f"make {target} " in printed
