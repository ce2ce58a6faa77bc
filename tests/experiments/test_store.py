"""Results on disk: each is of its very cell, and every committed one belongs to a cell."""

import json

import pytest

from experiments import reproduce
from experiments.declare import PROFILES, RESULTS, cells
from experiments.figures import FIGURES
from experiments.store import is_stored
from experiments.tables import TABLES

DECLARED = TABLES | {table.name: table for figure in FIGURES.values() for table in figure.tables}


def test_a_result_of_another_config_is_not_taken_for_this_one(ran, tmp_path, capsys):
    source = ran / "quick" / "table2" / "iid_fedavg_seed0.json"
    stored = json.loads(source.read_text())
    stored["config"]["lr"] = 0.5
    target = tmp_path / "quick" / "table2" / source.name
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(stored))
    arguments = ["table2", "--results-dir", str(tmp_path), "--methods", "FedAvg", "--settings", "iid", "--quiet"]
    assert reproduce.main(arguments) == 2
    assert "was run with lr 0.5 instead of 0.005: move it away, or run it --again" in capsys.readouterr().err


def test_a_setting_of_the_machine_makes_no_other_result(ran):
    (cell, *_) = cells(TABLES["table2"], "quick", variant={"chunk": 3, "devices": 1})
    assert is_stored(cell._replace(variant={}), ran)


@pytest.mark.parametrize("table", DECLARED.values(), ids=DECLARED)
def test_stored_cells_are_those_of_the_tables(table):
    """Everything under results/ belongs to a cell of its table, run with that cell's config."""
    for profile in PROFILES:
        for path in sorted((RESULTS / profile / table.name).glob("*.json")):
            stored = json.loads(path.read_text())
            known = {
                cell.path(RESULTS): cell
                for cell in cells(table, profile, seeds=stored["seed"] + 1, variant=stored["variant"])
            }
            assert path in known, path
            assert is_stored(known[path], RESULTS)
            wanted = known[path].config.results
            assert {n: v for n, v in stored["config"].items() if n in wanted}.items() <= wanted.items()


def test_every_stored_result_is_of_a_table():
    folders = {path.parent.name for path in RESULTS.glob("*/*/*.json")}
    assert folders <= set(DECLARED)
