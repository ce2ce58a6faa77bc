"""Results written by hand, for the tests of pages."""

import pytest

from experiments.declare import PROFILES, slug
from fedcos_jax.runs import files


@pytest.fixture
def handmade(tmp_path):
    """Results of Table IV: two seeds of two methods in the first setting, and one of another in the third."""
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
