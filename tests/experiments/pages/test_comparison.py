"""Our numbers beside the paper's: means, deviations, gains and variants."""

import pytest

from experiments.declare import cells
from experiments.pages import markdown
from experiments.pages.comparison import compare, variants, without_fedcos
from experiments.tables import TABLES
from fedcos_jax.runs import files


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
