"""The tables as a user runs them: files, resuming, selection, one compilation."""

import functools
import json
from contextlib import contextmanager

import jax
import pytest

from experiments import reproduce, table

KEYS = (
    "experiment profile dataset model partition method seed rounds last_accuracy best_accuracy last10_accuracy history "
    "config versions"
)


def run(*arguments):
    return reproduce.main([*map(str, arguments), "--quiet"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, programs):
    """Two methods in two settings, with two seeds."""
    folder = tmp_path_factory.mktemp("results")
    jax.clear_caches()
    before = programs.count("jit(segment)")
    arguments = ["table2", "--results-dir", folder, "--methods", "FedAvg", "fedopt(1.5)+fedcos(0.02)"]
    assert run(*arguments, "--settings", "sorted", "iid", "--seeds", 2) == 0
    assert programs.count("jit(segment)") == before + 1
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


@pytest.mark.parametrize("page", ["table2.md", "table2.tex"])
def test_pages_say_what_they_are(folder, page):
    text = (folder / "quick" / page).read_text()
    assert "Not the paper's experiment: digits stands in for fashion" in text
    assert "±" in text or r"$\pm$" in text
    assert "FedOpt(1.5)+FedCos(0.02)" in text


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


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    arguments = ["table2", "--results-dir", tmp_path, "--methods", "FedAvg", "FedOpt(1.5)", "--settings", "iid"]
    arguments += ["--set", "rounds=1", "local_steps=1"]
    run_one, ran = table.execute, []

    def interrupted(experiment, progress, checkpoints):
        ran.append(experiment.config.method)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return run_one(experiment, progress, checkpoints=checkpoints)

    monkeypatch.setattr(table, "execute", interrupted)
    assert run(*arguments) == 130
    assert capsys.readouterr().err == "reproduce: interrupted\n"
    assert len(list((tmp_path / "quick" / "table2").iterdir())) == 1
    assert run(*arguments) == 0
    assert ran == ["FedAvg", "FedOpt(1.5)", "FedOpt(1.5)"]


def test_a_table_is_one_sweep(folder, tmp_path, programs):
    arguments = ["table2", "--results-dir", tmp_path, "--methods", "FedAvg", "FedOpt(1.5)+FedCos(0.02)"]
    before = programs.count("jit(_compiled_block)")
    assert run(*arguments, "--settings", "sorted", "iid", "--seeds", 2, "--at-once", 8) == 0
    assert programs.count("jit(_compiled_block)") == before + 1
    for path in (tmp_path / "quick" / "table2").iterdir():
        together = json.loads(path.read_text())
        alone = json.loads((folder / "quick" / "table2" / path.name).read_text())
        assert together["config"] == alone["config"]
        assert together.keys() == alone.keys()
        # Sums in another order, magnified by training.
        assert together["history"]["train_loss"][:3] == pytest.approx(alone["history"]["train_loss"][:3], rel=1e-3)
        assert together["last_accuracy"] == pytest.approx(alone["last_accuracy"], abs=2)


def test_a_cell_goes_on_from_its_last_checkpoint(folder, tmp_path, monkeypatch):
    arguments = ["table2", "--results-dir", tmp_path, "--methods", "FedAvg", "--settings", "iid"]
    cell, rounds = tmp_path / "quick" / "table2" / "iid_fedavg_seed0.json", []

    @contextmanager
    def killed_after_two(label, length, shown):
        def progress(completed, evaluation):
            rounds.append(completed)
            if len(rounds) == 2:
                raise KeyboardInterrupt

        yield progress

    monkeypatch.setattr(table, "progress_bar", killed_after_two)
    monkeypatch.setattr(table, "Checkpoints", functools.partial(table.Checkpoints, every=0))
    assert run(*arguments) == 130
    assert cell.with_suffix(".checkpoint").is_dir()
    assert run(*arguments) == 0
    assert rounds[:4] == [1, 2, 2, 3]
    whole = json.loads((folder / "quick" / "table2" / cell.name).read_text())
    assert json.loads(cell.read_text())["history"] == whole["history"]
    assert not cell.with_suffix(".checkpoint").exists()


def test_a_result_of_another_config_is_not_taken_for_this_one(folder, tmp_path, capsys):
    source = folder / "quick" / "table2" / "iid_fedavg_seed0.json"
    stored = json.loads(source.read_text())
    stored["config"]["lr"] = 0.5
    target = tmp_path / "quick" / "table2" / source.name
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(stored))
    assert run("table2", "--results-dir", tmp_path, "--methods", "FedAvg", "--settings", "iid") == 2
    assert "was run with lr 0.5 instead of 0.005: move it away, or run it --again" in capsys.readouterr().err


def test_a_selection_passes_over_tables_without_it(tmp_path, capsys):
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
