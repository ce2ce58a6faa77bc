"""The five tables: complete, in the paper's settings, each compiled once per shape."""

import math

import jax
import pytest

from experiments import reproduce
from experiments.declare import PROFILES, RESULTS, cells
from experiments.tables import TABLES
from fedcos_jax import models, parse
from fedcos_jax.data import DATASETS
from fedcos_jax.data.partition import build
from fedcos_jax.data.sources import parse as parse_dataset
from fedcos_jax.runs.result import SUMMARY

ROWS = {name: entry.rows[0] for name, entry in DATASETS.items() if entry.rows is not None}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@every_table
def test_tables_are_complete(table):
    assert set(table.profiles) == set(PROFILES)
    assert set(table.paper) == set(table.methods)
    assert all(len(row) == len(table.settings) * len(table.values) for row in table.paper.values())
    assert set(table.values + table.beside) <= set(SUMMARY)
    assert all(parse(method).label == method for method in table.methods)
    paths = [cell.path(RESULTS) for cell in cells(table, "quick", seeds=2)]
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
def test_all_rows_are_one_program(tmp_path, programs, compiled_quickly, name, settings, rows, shapes):
    jax.clear_caches()
    before = programs.count("jit(segment)")
    arguments = [name, "--results-dir", str(tmp_path), "--quiet", "--settings", *settings]
    assert reproduce.main([*arguments, "--set", "rounds=2", "local_steps=3", "batch_size=5", "devices=1"]) == 0
    assert len(list((tmp_path / "quick" / name).iterdir())) == rows * len(settings)
    assert programs.count("jit(segment)") == before + shapes


def test_natural_clients_are_as_many_as_declared():
    config = next(cells(TABLES["table5"], "quick")).config
    entry, numbers = parse_dataset(config.dataset)
    dataset = entry.build(*numbers)
    assert len(build("natural", dataset.train.y, None, 0, dataset.groups).offsets) - 1 == config.clients
