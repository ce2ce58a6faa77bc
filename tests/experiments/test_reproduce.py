"""The tables as a user runs them: files, resuming, selection, one compilation."""

import json

import pytest

from experiments import markdown, reproduce, table2
from experiments.table import slug
from fedcos_jax.simulate import _compiled_segment

KEYS = (
    "experiment profile dataset model partition method seed rounds last_accuracy best_accuracy history config versions"
)


def run(*arguments):
    return reproduce.main([*map(str, arguments), "--quiet"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two methods in two settings, with two seeds."""
    folder = tmp_path_factory.mktemp("results")
    before = _compiled_segment._cache_size()
    arguments = ["table2", "--results-dir", folder, "--methods", "FedAvg", "fedopt(1.5)+fedcos(0.02)"]
    assert run(*arguments, "--settings", "sorted", "iid", "--seeds", 2) == 0
    assert _compiled_segment._cache_size() == before + 1
    return folder


def test_one_file_a_cell(folder):
    names = {path.name for path in (folder / "quick" / "table2").iterdir()}
    methods, settings = ("fedavg", "fedopt-1.5_fedcos-0.02"), ("sorted", "iid")
    assert names == {f"{s}_{m}_seed{i}.json" for s in settings for m in methods for i in range(2)}


def test_results_have_their_keys(folder):
    result = json.loads((folder / "quick" / "table2" / "sorted_fedopt-1.5_fedcos-0.02_seed1.json").read_text())
    assert set(KEYS.split()) <= set(result)
    assert (result["method"], result["partition"], result["seed"]) == ("FedOpt(1.5)+FedCos(0.02)", "sorted", 1)
    assert 0 < result["last_accuracy"] <= result["best_accuracy"] <= 100
    assert len(result["history"]["cosine_mean"]) == result["rounds"]


def test_fedcos_leads_where_clients_differ(folder):
    results = [json.loads(path.read_text()) for path in (folder / "quick" / "table2").glob("sorted_*")]
    accuracy = {name: [r["last_accuracy"] for r in results if r["method"] == name] for name in ("FedAvg",)}
    enhanced = [r["last_accuracy"] for r in results if "FedCos" in r["method"]]
    assert min(enhanced) > max(accuracy["FedAvg"])


def test_markdown_says_what_it_is(folder):
    text = (folder / "quick" / "table2.md").read_text()
    assert "Not the paper's numbers" in text
    assert "±" in text
    assert "| FedAvg |" in text


def test_finished_cells_are_not_run_again(folder, capsys):
    path = folder / "quick" / "table2" / "iid_fedavg_seed0.json"
    before = path.stat().st_mtime_ns
    assert run("table2", "--results-dir", folder, "--methods", "FedAvg", "--settings", "iid") == 0
    assert path.stat().st_mtime_ns == before
    assert run("table2", "--results-dir", folder, "--methods", "FedAvg", "--settings", "iid", "--again") == 0
    assert path.stat().st_mtime_ns > before


def test_a_variant_is_stored_and_shown_apart(folder):
    arguments = ["--methods", "FedOpt(1.5)+FedCos(0.02)", "--settings", "sorted", "--set", "epsilon=1e-4"]
    assert run("table2", "--results-dir", folder, *arguments) == 0
    stored = json.loads((folder / "quick/table2/sorted_fedopt-1.5_fedcos-0.02_epsilon-0.0001_seed0.json").read_text())
    assert stored["config"]["epsilon"] == 1e-4
    assert "epsilon = 0.0001" in (folder / "quick" / "table2.md").read_text()


def test_paper_profile_is_compared_with_the_paper(tmp_path):
    cell = tmp_path / "paper" / "table2" / "sorted_fedavg_seed0.json"
    cell.parent.mkdir(parents=True)
    cell.write_text(
        json.dumps({"method": "FedAvg", "partition": "sorted", "seed": 0, "last_accuracy": 75.5, "variant": {}})
    )
    text = markdown.render(table2.TABLE, "paper", tmp_path)
    assert "Totally non-IID: paper | Totally non-IID: ours | Totally non-IID: difference" in text
    assert "| FedAvg | 74.91 | 75.50 | +0.59 |" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "FedCos(0.5)"], "unknown method of table2 'FedCos(0.5)'"),
        (["--settings", "shards2"], "unknown setting of table2"),
        (["--seeds", "0"], "seeds must be at least 1"),
        (["--set", "epsilon"], "--set takes NAME=VALUE"),
        (["--set", "epsilom=1"], "did you mean 'epsilon'"),
        (["--profile", "paper", "--data-dir", "nowhere"], "nowhere does not exist"),
    ],
)
def test_mistakes_get_one_line(capsys, tmp_path, arguments, message):
    assert run("table2", "--results-dir", tmp_path / "results", *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_table_is_complete():
    table = table2.TABLE
    assert set(table.paper) == set(table.methods)
    assert all(len(row) == len(table.settings) for row in table.paper.values())
    assert len({slug(method) for method in table.methods}) == 9
