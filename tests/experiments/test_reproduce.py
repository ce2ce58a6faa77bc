"""The command as a user runs it: files, pages, selection, one-line mistakes."""

import json
import shutil

import pytest

from experiments import reproduce

KEYS = (
    "experiment profile dataset model partition method seed rounds last_accuracy best_accuracy last10_accuracy history "
    "config versions"
)


def run(*arguments):
    return reproduce.main([*map(str, arguments), "--quiet"])


def test_one_file_a_cell(ran):
    names = {path.name for path in (ran / "quick" / "table2").iterdir()}
    methods, settings = ("fedavg", "fedopt-1.5_fedcos-0.02"), ("sorted", "iid")
    assert names == {f"{s}_{m}_seed{i}.json" for s in settings for m in methods for i in range(2)}


def test_results_have_their_keys(ran):
    result = json.loads((ran / "quick" / "table2" / "sorted_fedopt-1.5_fedcos-0.02_seed1.json").read_text())
    assert set(KEYS.split()) <= set(result)
    assert (result["method"], result["partition"], result["seed"]) == ("FedOpt(1.5)+FedCos(0.02)", "sorted", 1)
    assert 0 < result["last_accuracy"] <= result["best_accuracy"] <= 100
    assert len(result["history"]["cosine_mean"]) == result["rounds"]


def test_fedcos_leads_where_clients_differ(ran):
    results = [json.loads(path.read_text()) for path in (ran / "quick" / "table2").glob("sorted_*")]
    accuracy = {name: [r["last_accuracy"] for r in results if r["method"] == name] for name in ("FedAvg",)}
    enhanced = [r["last_accuracy"] for r in results if "FedCos" in r["method"]]
    assert min(enhanced) > max(accuracy["FedAvg"])


@pytest.mark.parametrize("page", ["table2.md", "table2.tex"])
def test_pages_say_what_they_are(ran, page):
    text = (ran / "quick" / page).read_text()
    assert "Not the paper's experiment: digits stands in for fashion" in text
    assert "±" in text or r"$\pm$" in text
    assert "FedOpt(1.5)+FedCos(0.02)" in text


def test_finished_cells_are_not_run_again(ran, tmp_path, capsys):
    folder = shutil.copytree(ran, tmp_path / "copy")
    path = folder / "quick" / "table2" / "iid_fedavg_seed0.json"
    before = path.stat().st_mtime_ns
    assert run("table2", "--results-dir", folder, "--methods", "FedAvg", "--settings", "iid") == 0
    assert path.stat().st_mtime_ns == before
    assert run("table2", "--results-dir", folder, "--methods", "FedAvg", "--settings", "iid", "--again") == 0
    assert path.stat().st_mtime_ns > before


def test_a_variant_is_stored_and_shown_apart(ran, tmp_path):
    folder = shutil.copytree(ran, tmp_path / "copy")
    arguments = ["--methods", "FedOpt(1.5)+FedCos(0.02)", "--settings", "sorted", "--set", "epsilon=1e-4"]
    assert run("table2", "--results-dir", folder, *arguments) == 0
    stored = json.loads((folder / "quick/table2/sorted_fedopt-1.5_fedcos-0.02_epsilon-0.0001_seed0.json").read_text())
    assert stored["config"]["epsilon"] == 1e-4
    assert "epsilon = 0.0001" in (folder / "quick" / "table2.md").read_text()


def test_a_selection_passes_over_tables_without_it(tmp_path, capsys, compiled_quickly):
    arguments = ["--methods", "FedCos(0.05)", "--settings", "fmnist-0.1", "--set", "rounds=1", "local_steps=1"]
    assert run("tables", "--results-dir", tmp_path, *arguments) == 0
    written = {path.relative_to(tmp_path / "quick").as_posix() for path in tmp_path.rglob("*.*")}
    assert written == {
        "report.html",
        "table4.md",
        "table4.tex",
        "table4/fmnist-0.1_fedcos-0.05_local_steps-1_rounds-1_seed0.json",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "FedCos(0.5)"], "unknown method of table2 'FedCos(0.5)'"),
        (["--settings", "shards2"], "unknown setting of table2"),
        (["--only", "table1"], "unknown name in table2 'table1'"),
        (["--seeds", "0"], "seeds must be at least 1"),
        (["--at-once", "0"], "runs at once must be at least 1"),
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


def test_figures_have_no_variants(capsys, tmp_path):
    assert run("long", "--results-dir", tmp_path, "--set", "epsilon=1e-4") == 2
    assert "--set runs a variant of a table" in capsys.readouterr().err
