"""The figures: what they run, what they measure, what they draw."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import reproduce
from experiments.declare import PROFILES, Table, cells
from experiments.figures import FIGURES, efficiency, long, many_clients, trajectories
from experiments.figures.figure import INK, as_svg, compose
from experiments.tables import table2
from fedcos_jax import parse
from fedcos_jax.data import DATASETS
from fedcos_jax.models import MODELS
from tests.experiments import fabricated


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("figure", FIGURES.values(), ids=lambda figure: figure.name)
def test_every_cell_names_what_exists(figure, profile):
    for cell in figure.cells(profile):
        assert parse(cell.config.method).label == cell.config.method
        assert cell.config.model in MODELS
        entry = DATASETS[cell.config.dataset.split("(")[0]]
        assert entry.embedded == (profile == "quick")
    assert figure.name == "toy3" or figure.name == "toy" or list(figure.cells(profile))


def test_figures_share_the_cells_of_tables(tmp_path):
    table = {cell.path(tmp_path) for cell in cells(table2.TABLE, "paper")}
    assert {cell.path(tmp_path) for cell in FIGURES["mechanism"].cells("paper")} < table
    saved = {cell.path(tmp_path) for cell in FIGURES["efficiency"].cells("paper", settings=("iid",))}
    assert len(saved) == 16
    assert len(saved & table) == 8


def epochs(table: Table, rows: int) -> float:
    config = table.profiles["paper"].config
    return config.rounds * config.local_steps / -(-(rows // config.clients) // config.batch_size)


@pytest.mark.parametrize(
    ("table", "rows", "wanted"),
    [(many_clients.CIFAR10, 50_000, 500), (many_clients.FMNIST, 60_000, 500), (long.TABLE, 50_000, 3200)],
)
def test_the_paper_schedule_is_the_first_to_reach_its_epochs(table, rows, wanted):
    config = table.profiles["paper"].config
    assert epochs(table, rows) >= wanted
    assert epochs(table, rows) * (config.rounds - 1) / config.rounds < wanted


def result(*accuracies):
    history = {"round": list(range(1, len(accuracies) + 1)), "accuracy": list(accuracies)}
    return {"last_accuracy": accuracies[-1], "rounds": len(accuracies), "history": history}


def test_rounds_are_counted_to_where_the_baseline_ended():
    saving = efficiency.saving(result(10, 30, 25, 24), result(20, 24, 40, 20))
    assert saving == (24, 4, 2)
    assert saving.factor == 2
    assert efficiency.saving(result(10, 30), result(5, 29)).factor is None


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_a_baseline_saves_nothing_on_itself_but_what_it_lost_again(accuracies):
    saving = efficiency.saving(result(*accuracies), result(*accuracies))
    assert saving.factor >= 1
    assert saving.enhanced == next(i for i, a in enumerate(accuracies, 1) if a >= accuracies[-1])


@pytest.mark.parametrize("clients", trajectories.PROBLEMS)
def test_fedcos_comes_nearer_the_optimum(clients):
    problem = trajectories.PROBLEMS[clients]
    path = trajectories.path(clients, "FedAvg")
    np.testing.assert_allclose(path[0], problem.start, rtol=1e-6)
    assert np.linalg.norm(path[-1] - problem.centers.mean(0)) < 0.1
    assert trajectories.nearest(clients, "FedCos(0.5)") < 0.5 * trajectories.nearest(clients, "FedAvg")


def test_panels_take_the_ink_of_the_page(tmp_path):
    for method in ("FedAvg", "FedCos(0.02)"):
        fabricated.write(tmp_path, table2.TABLE, "quick", "sorted", method, 80.0)
    panels = FIGURES["mechanism"].panels("quick", tmp_path)
    assert len(panels) == 3
    first, second = (as_svg(panel, f"p{i}") for i, panel in enumerate(panels[:2]))
    assert INK not in first
    assert "currentColor" in first
    names = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert names[0]
    assert not names[0] & names[1]
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', first))
    assert used <= names[0]
    assert not re.search(r"<svg[^>]* width=", first)
    assert [text.get_text() for text in compose(panels).legends[0].get_texts()] == ["FedAvg", "FedCos(0.02)"]


def test_a_figure_runs_draws_and_reports(tmp_path, capsys):
    stored = fabricated.write(tmp_path, table2.TABLE, "quick", "sorted", "FedAvg", 61.25)
    before = stored.read_bytes()
    arguments = ["consistency", "--results-dir", str(tmp_path), "--methods", "FedAvg", "fedcos(0.02)", "--quiet"]
    assert reproduce.main(arguments) == 0
    assert stored.read_bytes() == before
    assert {path.name for path in stored.parent.iterdir()} == {stored.name, "sorted_fedcos-0.02_seed0.json"}
    assert (tmp_path / "quick" / "figures" / "consistency.png").read_bytes().startswith(b"\x89PNG")
    assert "61.25" in (tmp_path / "quick" / "report.html").read_text()


def test_a_method_that_no_figure_shows_is_a_mistake(tmp_path, capsys):
    arguments = ["figures", "--results-dir", str(tmp_path), "--methods", "FedCos(0.7)", "--quiet"]
    assert reproduce.main(arguments) == 2
    assert "unknown method" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
