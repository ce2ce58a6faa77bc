"""The five tables: complete, in the paper's settings, each compiled once a shape, and shown as they are."""

import dataclasses
import json
import math
import re

import jax
import pytest

from experiments import latex, markdown, reproduce
from experiments.comparison import compare, variants, without_fedcos
from experiments.table import PROFILES, VALUES, cells, select, slug
from fedcos_jax import InputError, models
from fedcos_jax.runs import files
from fedcos_jax.data import DATASETS
from fedcos_jax.data.sources import parse as parse_dataset
from fedcos_jax.methods import parse
from fedcos_jax.data.partition import build

TABLES = reproduce.TABLES
ROWS = {name: entry.rows[0] for name, entry in DATASETS.items() if entry.rows is not None}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@every_table
def test_tables_are_complete(table):
    assert set(table.profiles) == set(PROFILES)
    assert set(table.paper) == set(table.methods)
    assert all(len(row) == len(table.settings) * len(table.values) for row in table.paper.values())
    assert set(table.values + table.beside) <= set(VALUES)
    assert all(parse(method).label == method for method in table.methods)
    paths = [cell.path(reproduce.RESULTS) for cell in cells(table, "quick", seeds=2)]
    assert len(set(paths)) == len(paths) == 2 * len(table.methods) * len(table.settings)


@every_table
def test_profiles_run_on_what_they_say(table):
    for profile in PROFILES:
        configs = [cell.config for cell in cells(table, profile)]
        names = {config.dataset for config in configs} | {config.model for config in configs}
        stand_ins = table.profiles[profile].stand_ins
        assert set(stand_ins.values()) <= names
        assert not names & set(stand_ins)
        assert {config.model for config in configs} <= set(models.MODELS)
        embedded = {parse_dataset(config.dataset)[0].embedded for config in configs}
        assert embedded == {profile == "quick"}
    assert not table.profiles["paper"].stand_ins


@pytest.mark.parametrize(("name", "epochs"), [("table1", 500), ("table2", 500), ("table3", 300)])
def test_cross_silo_runs_are_as_long_as_the_papers(name, epochs):
    """Rounds until a client has passed over its rows so often, the last short batch counted."""
    for cell in cells(TABLES[name], "paper"):
        config = cell.config
        steps = epochs * math.ceil(ROWS[config.dataset] // config.clients / config.batch_size)
        assert config.rounds == math.ceil(steps / config.local_steps)


def test_cross_device_settings_are_the_papers():
    fields = ("dataset", "model", "partition", "clients", "rounds", "local_steps", "batch_size", "lr")
    shown = {
        tuple(getattr(cell.config, f) for f in fields)
        for name in ("table4", "table5")
        for cell in cells(TABLES[name], "paper")
    }
    assert shown == {
        ("cifar10", "cnn", "shards2", 100, 250, 100, 64, 0.01),
        ("fashion_mnist", "mlp", "shards2", 100, 250, 100, 64, 0.01),
        ("shakespeare", "lstm", "natural", 143, 100, 50, 10, 0.5),
    }
    assert {cell.config.fraction for cell in cells(TABLES["table5"], "paper")} == {0.1, 0.2}


@pytest.mark.parametrize(
    ("name", "settings", "rows", "shapes"),
    [("table2", list(TABLES["table2"].settings), 9, 1), ("table4", ["fmnist-0.1", "fmnist-0.2"], 4, 2)],
)
def test_all_rows_are_one_program(tmp_path, programs, name, settings, rows, shapes):
    jax.clear_caches()
    before = programs.count("jit(segment)")
    arguments = [name, "--results-dir", str(tmp_path), "--quiet", "--settings", *settings]
    assert reproduce.main([*arguments, "--set", "rounds=2", "local_steps=3", "batch_size=5"]) == 0
    assert len(list((tmp_path / "quick" / name).iterdir())) == rows * len(settings)
    assert programs.count("jit(segment)") == before + shapes


def test_a_choice_must_be_in_one_of_the_tables():
    chosen = [TABLES["table2"], TABLES["table5"]]
    assert select(chosen, ["fedcos(0.005)", "FedAvg"], ["iid"]) == (["FedCos(0.005)", "FedAvg"], ["iid"])
    with pytest.raises(InputError, match=r"unknown method of table2, table5 'FedCos\(0.05\)'"):
        select(chosen, ["FedCos(0.05)"])
    with pytest.raises(InputError, match=r"unknown setting of table2, table5 'fmnist-0\.1'"):
        select(chosen, [], ["fmnist-0.1"])


@pytest.mark.parametrize(
    ("method", "plain"),
    [("FedAvg", None), ("FedProx(0.1)", None), ("FedCos(0.02)", "FedAvg"), ("FedOpt(1.5)+FedCos(0.02)", "FedOpt(1.5)")],
)
def test_gains_are_over_the_same_method_without_fedcos(method, plain):
    assert without_fedcos(method) == plain


def test_variants_are_shown_over_their_seeds_beside_the_cells_own(tmp_path):
    """Best rounds 80 and 84 with other cohorts, 82 and 90 at seeds 0 and 2 with the table's: (80 - 82) at seed 0."""
    table = TABLES["table4"]
    for seed, variant, best in ((0, {}, 82.0), (2, {}, 90.0), (0, {"replay": None}, 80.0), (1, {"replay": None}, 84.0)):
        (cell,) = list(
            cells(table, "paper", methods=["FedAvg"], settings=["fmnist-0.1"], seeds=seed + 1, variant=variant)
        )[seed:]
        numbers = {"best_accuracy": best, "last_accuracy": best - 5, "last10_accuracy": 0.0}
        files.write(cell.path(tmp_path), {"method": "FedAvg", "seed": seed, "variant": variant, **numbers})
    (shown,) = variants(table, "paper", tmp_path)
    assert shown[:4] == ("fmnist-0.1", "FedAvg", "replay = None", [0, 1])
    (best, against_best), (last, against_last) = shown.numbers
    assert (best.mean, last.mean) == (82.0, 77.0)
    assert best.deviation == pytest.approx(8**0.5)
    assert (against_best, against_last) == (-2.0, -2.0)
    row = "| fmnist-0.1 | FedAvg | replay = None | 0, 1 | 82.00 ± 2.83 | -2.00 | 77.00 ± 2.83 | -2.00 |"
    assert row in markdown.render(table, "paper", tmp_path)


@pytest.fixture
def folder(tmp_path):
    """Handmade results of Table IV: two seeds of three methods, in the first setting and another in the third."""
    accuracies = {
        ("cifar10-0.1", "FedAvg"): [(50.0, 48.0), (52.0, 49.0)],
        ("cifar10-0.1", "FedCos(0.02)"): [(55.0, 54.0), (55.0, 52.0)],
        ("fmnist-0.1", "FedCos(0.05)"): [(85.0, 80.0)],
    }
    for profile in PROFILES:
        for (setting, method), seeds in accuracies.items():
            for seed, (best, last) in enumerate(seeds):
                values = {"best_accuracy": best, "last_accuracy": last, "last10_accuracy": last + 1}
                result = {"method": method, "seed": seed, "variant": {}, **values}
                files.write(tmp_path / profile / "table4" / f"{setting}_{slug(method)}_seed{seed}.json", result)
    return tmp_path


def test_numbers_stand_beside_the_papers(folder):
    entry = compare(TABLES["table4"], "paper", folder, "best_accuracy")["FedCos(0.02)"][0]
    assert entry.paper.mean == 54.90
    assert entry.paper.gain == pytest.approx(54.90 - 49.91)
    assert (entry.ours.mean, entry.ours.deviation, entry.ours.gain) == (55, 0, 4)
    assert (entry.paper.best, entry.ours.best) == (False, True)
    assert entry.difference == pytest.approx(0.10)
    plain, elsewhere = compare(TABLES["table4"], "paper", folder, "last_accuracy")["FedAvg"][:2]
    assert plain.ours.deviation == pytest.approx(0.5**0.5)
    assert plain.ours.gain is None
    assert (elsewhere.paper.mean, elsewhere.ours, elsewhere.difference) == (50.61, None, None)


def test_gains_are_of_the_seeds_that_both_have(folder):
    (folder / "paper" / "table4" / "cifar10-0.1_fedavg_seed0.json").unlink()
    rows = compare(TABLES["table4"], "paper", folder, "last_accuracy")
    assert (rows["FedAvg"][0].ours.mean, rows["FedCos(0.02)"][0].ours.mean) == (49, 53)
    assert rows["FedCos(0.02)"][0].ours.gain == 52 - 49
    (folder / "paper" / "table4" / "cifar10-0.1_fedavg_seed1.json").unlink()
    assert compare(TABLES["table4"], "paper", folder, "last_accuracy")["FedCos(0.02)"][0].ours.gain is None


def test_markdown_shows_every_value_and_the_best(folder):
    page = markdown.render(TABLES["table4"], "paper", folder)
    shown = ["best round", "last round", "mean of the last ten rounds"]
    assert re.findall(r"## Test accuracy \(%\), (.*)", page) == shown
    assert "CIFAR10, 10%: paper | CIFAR10, 10%: ours | CIFAR10, 10%: difference" in page
    assert "| FedCos(0.02) | 54.90 (+4.99) | **55.00 ± 0.00** (+4.00) | +0.10 |" in page
    assert "| FedAvg | 48.69 | 48.50 ± 0.71 | -0.19 |" in page
    assert "Not the paper's experiment" not in page


def test_a_stand_in_has_no_difference_to_the_paper(folder):
    for module in (markdown, latex):
        page = module.render(TABLES["table4"], "quick", folder)
        assert "stands in for cifar10" in page
        assert "difference" not in page


@every_table
def test_latex_shows_the_same_numbers(table, folder):
    numbers = lambda text: re.findall(r"[-+]?\d+\.\d+", text)  # noqa: E731
    for profile in PROFILES:
        rows = [line for line in markdown.render(table, profile, folder).splitlines() if line.startswith("| Fed")]
        page = latex.render(table, profile, folder)
        tex_rows = [line for line in page.splitlines() if line.startswith("Fed")]
        assert [numbers(row) for row in tex_rows] == [numbers(row) for row in rows]
        widths = [len(spec) for spec in re.findall(r"\\begin{tabular}{(\w+)}", page)]
        assert {row.count("&") + 1 for row in tex_rows} <= set(widths)
        assert len(widths) == page.count(r"\bottomrule") == len(table.values + table.beside)
        assert not re.search(r"(?<!\\)[_#±]|(?<!\\)%(?!\n)", re.sub(r"\\label{.*}", "", page))


@every_table
def test_stored_cells_are_those_of_the_tables(table):
    """Everything under results/ belongs to a cell of its table, run with that cell's config."""
    root = reproduce.RESULTS
    for profile in PROFILES:
        for path in sorted((root / profile / table.name).glob("*.json")):
            stored = json.loads(path.read_text())
            known = {
                cell.path(root): cell
                for cell in cells(table, profile, seeds=stored["seed"] + 1, variant=stored["variant"])
            }
            assert path in known, path
            wanted = dataclasses.asdict(known[path].config)
            assert {n: v for n, v in stored["config"].items() if n in wanted and n != "chunk"}.items() <= wanted.items()


@pytest.mark.parametrize("profile", ["short", "paper"])
@every_table
def test_stored_pages_show_the_stored_cells(table, profile):
    folder = reproduce.RESULTS / profile
    assert (folder / f"{table.name}.md").exists() == (folder / table.name).exists()
    for path in folder.glob(f"{table.name}.*"):
        render = {".md": markdown.render, ".tex": latex.render}[path.suffix]
        assert path.read_text() == render(table, profile, reproduce.RESULTS), path


def test_natural_clients_are_as_many_as_declared():
    config = next(cells(TABLES["table5"], "quick")).config
    entry, numbers = parse_dataset(config.dataset)
    dataset = entry.build(*numbers)
    assert len(build("natural", dataset.train.y, 0, 0, dataset.groups).offsets) - 1 == config.clients
