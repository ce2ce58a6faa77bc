"""Our numbers beside the paper's: means, deviations, gains and variants."""

import pytest

from experiments.declare import cells
from experiments.pages import latex, markdown
from experiments.pages.comparison import compare, variants, without_fedcos
from experiments.tables import TABLES
from fedcos_jax.runs import files
from tests.experiments import fabricated


@pytest.mark.parametrize(
    ("method", "plain"),
    [
        ("FedAvg", None),
        ("FedProx(0.1)", None),
        ("FedCos(0.02)", "FedAvg"),
        ("FedOpt(1.5)+FedCos(0.02)", "FedOpt(1.5)"),
        ("SCAFFOLD+FedCos(0.02)", "SCAFFOLD"),
    ],
)
def test_gains_are_over_the_same_method_without_fedcos(method, plain):
    assert without_fedcos(method) == plain


def write_variants(folder, changes, method="FedAvg", lower=0.0):
    """Best rounds 80 and 84 with the changes, and 82 and 90 at seeds 0 and 2 as the table has it."""
    for seed, variant, best in ((0, {}, 82.0), (2, {}, 90.0), (0, changes, 80.0), (1, changes, 84.0)):
        chosen = {"methods": [method], "settings": ["fmnist-0.1"], "seeds": seed + 1, "variant": variant}
        (cell,) = list(cells(TABLES["table4"], "paper", **chosen))[seed:]
        numbers = {"best_accuracy": best - lower, "last_accuracy": best - 5, "last10_accuracy": 0.0}
        files.write(cell.path(folder), {"method": method, "seed": seed, "variant": variant, **numbers})


def test_own_draws_stand_beside_the_authors_draws(tmp_path):
    write_variants(tmp_path, {"replay": None}, "FedCos(0.02)")
    write_variants(tmp_path, {"replay": None}, lower=3.0)
    table = TABLES["table4"]
    entry = compare(table, "paper", tmp_path, "best_accuracy")["FedCos(0.02)"][2]
    assert (entry.ours.mean, entry.own_draws.mean, entry.own_draws.gain) == (86.0, 82.0, 3.0)
    assert entry.own_draws.deviation == pytest.approx(8**0.5)
    assert list(variants(table, "paper", tmp_path)) == []
    page = markdown.render(table, "paper", tmp_path)
    assert "FMNIST, 10%: difference | FMNIST, 10%: own draws | FMNIST, 20%: paper" in page
    assert "| 86.00 ± 5.66 (+3.00) | +1.51 | **82.00 ± 2.83** (+3.00) |" in page.replace(
        "**86.00 ± 5.66**", "86.00 ± 5.66"
    )
    assert "Variants" not in page
    assert "*Own draws* are the same cells with draws of our own" in page
    tex = latex.render(table, "paper", tmp_path)
    assert r"\multicolumn{4}{c}{FMNIST, 10\%} & \multicolumn{3}{c}{FMNIST, 20\%}" in tex
    assert r"\cmidrule(lr){8-11} \cmidrule(lr){12-14}" in tex


def test_marks_are_explained_where_they_stand(tmp_path):
    fabricated.write(tmp_path, TABLES["table4"], "paper", "fmnist-0.1", "FedAvg", 80.0)
    for module in (markdown, latex):
        page = module.render(TABLES["table4"], "paper", tmp_path)
        assert "standard deviation" not in page
        assert "own draws" not in page.lower()
    write_variants(tmp_path, {"epsilon": 1e-4})
    for module, mark in ((markdown, "After ± stands"), (latex, r"After $\pm$ stands")):
        assert f"{mark} the sample standard deviation" in module.render(TABLES["table4"], "paper", tmp_path)


def test_variants_are_shown_over_their_seeds_beside_the_cells_own(tmp_path):
    """(80 - 82) at seed 0, which is the only seed that both have."""
    table = TABLES["table4"]
    write_variants(tmp_path, {"epsilon": 1e-4})
    (shown,) = variants(table, "paper", tmp_path)
    assert shown[:4] == ("fmnist-0.1", "FedAvg", "epsilon = 0.0001", [0, 1])
    (best, against_best), (last, against_last) = shown.numbers
    assert (best.mean, last.mean) == (82.0, 77.0)
    assert best.deviation == pytest.approx(8**0.5)
    assert (against_best, against_last) == (-2.0, -2.0)
    row = "| fmnist-0.1 | FedAvg | epsilon = 0.0001 | 0, 1 | 82.00 ± 2.83 | -2.00 | 77.00 ± 2.83 | -2.00 |"
    assert row in markdown.render(table, "paper", tmp_path)


def test_numbers_stand_beside_the_papers(handmade):
    entry = compare(TABLES["table4"], "paper", handmade, "best_accuracy")["FedCos(0.02)"][0]
    assert entry.paper.mean == 54.90
    assert entry.paper.gain == pytest.approx(54.90 - 49.91)
    assert (entry.ours.mean, entry.ours.deviation, entry.ours.gain) == (55, 0, 4)
    assert (entry.paper.best, entry.ours.best) == (False, True)
    assert entry.difference == pytest.approx(0.10)
    plain, elsewhere = compare(TABLES["table4"], "paper", handmade, "last_accuracy")["FedAvg"][:2]
    assert plain.ours.deviation == pytest.approx(0.5**0.5)
    assert plain.ours.gain is None
    assert (elsewhere.paper.mean, elsewhere.ours, elsewhere.difference) == (50.61, None, None)


def test_gains_are_of_the_seeds_that_both_have(handmade):
    (handmade / "paper" / "table4" / "cifar10-0.1_fedavg_seed0.json").unlink()
    rows = compare(TABLES["table4"], "paper", handmade, "last_accuracy")
    assert (rows["FedAvg"][0].ours.mean, rows["FedCos(0.02)"][0].ours.mean) == (49, 53)
    assert rows["FedCos(0.02)"][0].ours.gain == 52 - 49
    (handmade / "paper" / "table4" / "cifar10-0.1_fedavg_seed1.json").unlink()
    assert compare(TABLES["table4"], "paper", handmade, "last_accuracy")["FedCos(0.02)"][0].ours.gain is None
