"""What a table is: its cells, their files, and the choice among them."""

import pytest

from experiments.declare import cells, select, slug
from experiments.figures import FIGURES
from experiments.tables import TABLES
from fedcos_jax import InputError, labels


def test_a_choice_must_be_in_one_of_the_tables():
    chosen = [TABLES["table2"], TABLES["table5"]]
    assert select(chosen, ["fedcos(0.005)", "FedAvg"], ["iid"]) == (["FedCos(0.005)", "FedAvg"], ["iid"])
    with pytest.raises(InputError, match=r"unknown method of table2, table5 'FedCos\(0.05\)'"):
        select(chosen, ["FedCos(0.05)"])
    with pytest.raises(InputError, match=r"unknown setting of table2, table5 'fmnist-0\.1'"):
        select(chosen, [], ["fmnist-0.1"])


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("FedAvg", "fedavg"),
        ("FedOpt(1.5)+FedCos(0.02)", "fedopt-1.5_fedcos-0.02"),
        ("FedAdam(0.01,b2=0.999)", "fedadam-0.01-b2=0.999"),
        (
            "FedAdam(0.01,b1=0.8,tau=1e-05)+FedCos(0.02,epsilon=0.0001)",
            "fedadam-0.01-b1=0.8-tau=1e-05_fedcos-0.02-epsilon=0.0001",
        ),
    ],
)
def test_every_label_is_a_file_name(method, name):
    assert labels.parse(method).label == method
    assert slug(method) == name


def test_cells_of_an_unknown_profile():
    with pytest.raises(InputError, match="unknown profile"):
        list(FIGURES["mechanism"].cells("huge"))
    with pytest.raises(InputError, match="unknown profile"):
        list(cells(TABLES["table2"], "huge"))
