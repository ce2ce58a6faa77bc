"""The datasets by name. The file of each dataset says the rest about it."""

from fedcos_jax.data import cifar, dialects, digits, leaf, mnist, shakespeare, synthetic
from fedcos_jax.data.entry import DatasetEntry

DATASETS: dict[str, DatasetEntry] = {
    "digits": digits.ENTRY,
    **{variant.name: mnist.entry(variant) for variant in mnist.VARIANTS},
    "cifar10": cifar.entry(cifar.CIFAR10),
    "cifar100": cifar.entry(cifar.CIFAR100),
    "shakespeare": shakespeare.ENTRY,
    **leaf.ENTRIES,
    "synthetic": synthetic.ENTRY,
    "dialects": dialects.ENTRY,
}
