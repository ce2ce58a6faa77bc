"""A config becomes the experiment that it describes."""

import jax
import pytest

from fedcos_jax.errors import InputError
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.prepare import prepare


def test_names_and_counts_are_resolved():
    prepared = prepare(Config(dataset="dialects(6,5)", model="lstm", partition="natural", method="fedopt+fedcos"))
    assert prepared.config.method == "FedOpt(1.5)+FedCos(0.02)"
    assert prepared.config.clients == prepared.experiment.data.num_clients == 6


def test_the_paper_form_is_one_structure():
    structures = {
        in_paper_form: {
            jax.tree.structure(prepare(Config(method=method), in_paper_form=in_paper_form).experiment.method)
            for method in ("FedAvg", "FedProx(0.1)", "FedCos(0.1)")
        }
        for in_paper_form in (False, True)
    }
    assert [len(structures[form]) for form in (False, True)] == [3, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "FedFoo"}, "unknown method"),
        ({"model": "lstm"}, "the model lstm takes symbols"),
        ({"fraction": 0.0}, "must lie in"),
        ({"clients": 0}, "clients must be at least 1"),
    ],
)
def test_mistakes_are_found_before_anything_is_compiled(changes, message):
    with pytest.raises(InputError, match=message):
        prepare(Config(**changes))
