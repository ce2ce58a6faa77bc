"""`fedcos list` shows every registry."""

from fedcos_jax.cli.main import main
from fedcos_jax.data import DATASETS
from fedcos_jax.data.partition import PARTITIONS
from fedcos_jax.labels import FLAGS, METHODS, WRAPPERS
from fedcos_jax.models import MODELS


def test_every_name_is_listed(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    labels = [entry.label for entry in (METHODS | WRAPPERS).values()]
    examples = [entry.example for entry in PARTITIONS.values()]
    flags = ["--" + name.replace("_", "-") for name in FLAGS]
    for name in (*DATASETS, *MODELS, *examples, *labels, *flags, "b2"):
        assert name in printed
