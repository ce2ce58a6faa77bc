"""The figures: what they run, what they measure, what they draw."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import reproduce
from experiments.declare import PROFILES, RESULTS, Table, cells
from experiments.figures import FIGURES, efficiency, long, many_clients, trajectories
from experiments.figures.figure import INK, as_png, as_svg, compose, fingerprint, shown_by
from experiments.tables import table2
from fedcos_jax import parse
from fedcos_jax.data import DATASETS
from fedcos_jax.models import MODELS
from fedcos_jax.runs import files
from tests.experiments import fabricated


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("figure", FIGURES.values(), ids=lambda figure: figure.name)
def test_every_cell_names_what_exists(figure, profile):
    for cell in figure.cells(profile):
        assert parse(cell.config.method).label == cell.config.method
        assert cell.config.model in MODELS
        entry = DATASETS[cell.config.dataset.split("(")[0]]
        assert entry.embedded == (profile == "quick")
    assert bool(list(figure.cells(profile))) == bool(figure.runs)


def drawn(name, folder=RESULTS):
    """What the panels of a figure of the paper profile are fingerprinted as."""
    figure = FIGURES[name]
    return fingerprint(figure.panels("paper", folder), figure.caption("paper", folder))


@pytest.mark.parametrize("path", sorted((RESULTS / "paper" / "figures").glob("*.png")), ids=lambda path: path.stem)
def test_stored_pictures_show_the_stored_runs(path):
    """If this fails, `make report PROFILE=paper` draws them again."""
    assert shown_by(path) == drawn(path.stem)


def test_every_figure_with_runs_has_its_picture():
    names = {figure.name for figure in FIGURES.values() if figure.panels("paper", RESULTS)}
    assert {path.stem for path in (RESULTS / "paper" / "figures").glob("*.png")} == names


def test_a_fingerprint_follows_the_numbers_and_the_words(tmp_path):
    shown = set()
    for accuracy, seed in ((80.0, 0), (80.001, 0), (80.001, 1)):
        fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", accuracy, seed=seed)
        shown.add(drawn("table2_rounds", tmp_path))
        assert drawn("table2_rounds", tmp_path) in shown
    panels = FIGURES["table2_rounds"].panels("paper", tmp_path)
    shown |= {fingerprint(panels), fingerprint(panels, "a heading")}
    assert len(shown) == 4


def test_a_picture_carries_its_fingerprint(tmp_path):
    fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", 80.0)
    panels = FIGURES["table2_rounds"].panels("paper", tmp_path)
    (tmp_path / "picture.png").write_bytes(as_png(panels, 1, "a heading"))
    assert shown_by(tmp_path / "picture.png") == fingerprint(panels, "a heading")
    assert as_png(panels, 1, "a heading") == (tmp_path / "picture.png").read_bytes()
    assert shown_by(RESULTS.parent / "benchmarks" / "results" / "scaling.png") is None


def test_the_hero_has_three_seeds(tmp_path):
    found = list(FIGURES["hero"].cells("paper"))
    assert [(cell.config.method, cell.config.seed) for cell in found] == [
        (method, seed) for seed in range(3) for method in ("FedAvg", "FedCos(0.02)")
    ]
    assert {cell.config.epsilon for cell in found} == {1e-4}
    assert len(list(FIGURES["hero"].cells("paper", seeds=4))) == 8


def test_a_caption_says_what_bands_are(tmp_path):
    path = fabricated.write(tmp_path, table2.TABLE, "paper", "sorted", "FedAvg", 80.0)
    figure = FIGURES["table2_rounds"]
    assert "bands" not in figure.caption("paper", tmp_path)
    files.write(path.with_name("sorted_fedavg_seed1.json"), files.read(path) | {"seed": 1})
    assert "means over seeds (at most 0, 1), and bands are their range" in figure.caption("paper", tmp_path)


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


@pytest.mark.parametrize("folder", [RESULTS, Path("nowhere")], ids=["stored", "computed"])
@pytest.mark.parametrize("clients", trajectories.PROBLEMS)
def test_fedcos_comes_nearer_the_optimum_and_keeps_moving(clients, folder):
    problem = trajectories.PROBLEMS[clients]
    paths = {method: trajectories.path(clients, method, "paper", folder) for method in trajectories.METHODS}
    np.testing.assert_allclose(paths["FedAvg"][0], problem.start, rtol=1e-6)
    assert np.linalg.norm(paths["FedAvg"][-1] - problem.centers.mean(0)) < 0.1
    nearest = {method: trajectories.distances(clients, path).min() for method, path in paths.items()}
    assert nearest["FedCos(0.5)"] < 0.5 * nearest["FedAvg"]
    assert [method for method, path in paths.items() if trajectories.moves(path)] == ["FedCos(0.5)"]


@pytest.mark.parametrize("clients", trajectories.PROBLEMS)
def test_the_toy_says_how_near_it_came_and_where_it_ended(clients):
    for panel in trajectories.panels(clients, "paper", RESULTS):
        method, moving, nearest, last = re.fullmatch(
            r"(\S+) (stops|keeps moving)\ndistance to the optimum: nearest ([\d.]+), last ([\d.]+)", panel.title
        ).groups()
        away = np.linalg.norm(np.array(panel.data)[1:] - trajectories.PROBLEMS[clients].optimum(), axis=1)
        assert (nearest, last) == (f"{away.min():.2f}", f"{away[-1]:.2f}")
        assert (moving == "keeps moving") == (method == "FedCos(0.5)")


def test_a_path_is_stored_once(tmp_path):
    trajectories.store(2, "paper", tmp_path)
    (stored,) = (tmp_path / "paper").iterdir()
    files.write(stored, files.read(stored) | {"FedAvg": [[0.0, 0.0], [1.0, 1.0]]})
    trajectories.store(2, "paper", tmp_path)
    assert trajectories.path(2, "FedAvg", "paper", tmp_path).tolist() == [[0, 0], [1, 1]]


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
