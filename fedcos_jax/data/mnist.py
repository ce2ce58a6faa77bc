"""MNIST and its successors from their original files, `train-images-idx3-ubyte.gz` and so on.

Fashion-MNIST, KMNIST and EMNIST have the format of MNIST: 28x28 bytes per image and four idx files.
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedcos_jax.data.checksums import Published, check_file, check_rows
from fedcos_jax.data.dataset import Dataset, image_dataset, scaled
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.formats.archives import unpack
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.data.formats.idx import parse_idx
from fedcos_jax.data.formats.tfds import Catalogue
from fedcos_jax.errors import require

SIDE = 28
FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
"""Images and labels for training, then for testing."""
EMNIST_ARCHIVE = "gzip.zip"
"""The archive in which EMNIST is published, with the files of all its splits in the folder `gzip`."""


class Variant(NamedTuple):
    """What differs between the datasets of the family."""

    published: Published
    """The fingerprints of the rows, or the digests of the files if the fingerprints are not known."""
    what: str
    """What an image shows."""
    rows: tuple[int, int]
    """Training and test rows."""
    classes: int
    files: tuple[str, str, str, str]
    """As in FILES."""
    places: tuple[str, ...]
    """Folders to look in besides DATA/NAME and DATA, as in `Form`."""
    advice: str
    """How to get the files."""
    catalogue: Catalogue
    archive: str | None = None
    """An archive with the files in a folder of its own name."""
    first_label: int = 0
    """The label of the first class in the files."""
    transposed: bool = False
    """Whether the files have the columns of an image as its rows."""

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self.published.name


def _original(
    published: Published, what: str, version: str, address: str, places: tuple[str, ...], advice: str = ""
) -> Variant:
    """A dataset with the sizes and file names of MNIST."""
    return Variant(
        published,
        what,
        rows=(60_000, 10_000),
        classes=10,
        files=FILES,
        places=places,
        advice=f"the four gz files of its authors in DATA/{published.name}{advice}",
        catalogue=Catalogue(published, version, (SIDE, SIDE, 1), 10, address, FILES),
    )


def _emnist(
    split: str, what: str, rows: tuple[int, int], classes: int, first_label: int = 0, labels: int = 0
) -> Variant:
    """A split of EMNIST.

    Args:
        split: its name in the names of the files.
        what: what an image shows.
        rows: training and test rows.
        classes: number of classes.
        first_label: the label of the first class in the files.
        labels: number of labels in TensorFlow Datasets if it is not the number of classes.
    """
    name = "emnist" if split == "balanced" else f"emnist_{split}"
    archive = {EMNIST_ARCHIVE: "sha256:fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e"}
    published = Published(name, rows={}, files=archive)
    train_x, train_y, test_x, test_y = (f"emnist-{split}-{file.replace('t10k', 'test')}" for file in FILES)
    address = "https://biometrics.nist.gov/cs_links/EMNIST/"
    return Variant(
        published,
        what,
        rows,
        classes,
        files=(train_x, train_y, test_x, test_y),
        places=("emnist", "emnist/gzip", "gzip", "EMNIST/raw"),
        advice=f"{EMNIST_ARCHIVE} of EMNIST, or the emnist-{split}-*.gz files in it, in DATA/emnist",
        catalogue=Catalogue(
            published, "3.1.0", (SIDE, SIDE, 1), labels or classes, address, (EMNIST_ARCHIVE,), f"emnist/{split}"
        ),
        archive=EMNIST_ARCHIVE,
        first_label=first_label,
        transposed=True,
    )


MNIST = _original(
    Published(
        "mnist",
        rows={},
        files={
            "train-images-idx3-ubyte.gz": "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "train-labels-idx1-ubyte.gz": "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "t10k-images-idx3-ubyte.gz": "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "t10k-labels-idx1-ubyte.gz": "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        },
    ),
    what="handwritten digits",
    version="3.0.1",
    address="https://storage.googleapis.com/cvdf-datasets/mnist/",
    places=("MNIST/raw",),
)
FASHION_MNIST = _original(
    Published(
        "fashion_mnist",
        rows={
            "train": "fb88a2f5c1b590c907f860b47803d006e4fa7b276cdb551799af9d443accdff7",
            "test": "0b381379398a0943a88bf3864ff3f5177903dcf178030b4b74c495294b38fa7c",
        },
        files={
            "train-images-idx3-ubyte.gz": "sha256:3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "train-labels-idx1-ubyte.gz": "sha256:a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "t10k-images-idx3-ubyte.gz": "sha256:346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "t10k-labels-idx1-ubyte.gz": "sha256:67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        },
    ),
    what="fashion products",
    version="3.0.1",
    address="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    # The last folder is where Debian's package dataset-fashion-mnist puts the files.
    places=("fashion-mnist", "FashionMNIST/raw", "/usr/share/datasets/fashion-mnist"),
    advice=", or Debian's package dataset-fashion-mnist",
)
KMNIST = _original(
    Published(
        "kmnist",
        rows={},
        files={
            "train-images-idx3-ubyte.gz": "sha256:51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4",
            "train-labels-idx1-ubyte.gz": "sha256:e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17",
            "t10k-images-idx3-ubyte.gz": "sha256:edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5",
            "t10k-labels-idx1-ubyte.gz": "sha256:20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c",
        },
    ),
    what="cursive Japanese characters",
    version="3.0.1",
    address="http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
    places=("KMNIST/raw",),
)
VARIANTS = (
    FASHION_MNIST,
    MNIST,
    KMNIST,
    _emnist("balanced", "handwritten digits and letters", (112_800, 18_800), 47),
    _emnist("byclass", "handwritten digits and letters", (697_932, 116_323), 62),
    _emnist("bymerge", "handwritten digits and letters", (697_932, 116_323), 47),
    _emnist("digits", "handwritten digits", (240_000, 40_000), 10),
    # TensorFlow Datasets counts 37 labels, of which 1 to 26 occur.
    _emnist("letters", "handwritten letters", (88_800, 14_800), 26, first_label=1, labels=37),
)


def entry(variant: Variant) -> DatasetEntry:
    """The registry's row of a variant."""
    forms = [Form("original idx gz files", variant.files, partial(read, variant), variant.places)]
    if variant.archive:
        forms.append(Form(variant.archive, (variant.archive,), partial(read_archive, variant), variant.places))
    return DatasetEntry(
        summary=f"{sum(variant.rows):,} {variant.what}, {SIDE}x{SIDE}, {variant.classes} classes",
        rows=variant.rows,
        shape=(SIDE, SIDE),
        build=partial(build, variant),
        forms=tuple(forms),
        catalogue=variant.catalogue,
        advice=variant.advice,
    )


def build(variant: Variant, arrays: Arrays) -> Dataset:
    """Images of 28x28 bytes, upright, and labels from 0. Pixels are scaled to [-1, 1] as in the authors' code."""
    upright = {
        name: array.swapaxes(1, 2) if name.endswith("_x") and variant.transposed else array
        for name, array in arrays.items()
    }
    dataset = image_dataset(variant.name, upright, variant.classes, scaled(255.0, 0.5, 0.5))
    return dataset._replace(
        train=dataset.train._replace(y=dataset.train.y - variant.first_label),
        test=dataset.test._replace(y=dataset.test.y - variant.first_label),
    )


def read(variant: Variant, folder: Path) -> Arrays:
    """The checked images [rows, 28, 28] and labels [rows] of both splits, as they are in the files."""
    for file in variant.files:
        if not variant.published.rows:
            check_file(variant.published, folder, file)
    return _decode(variant, {file: (folder / file).read_bytes() for file in variant.files}, folder)


def read_archive(variant: Variant, folder: Path) -> Arrays:
    """The same from the archive, which is checked before it is opened."""
    archive = variant.archive or ""
    check_file(variant.published, folder, archive)
    stem = Path(archive).stem
    contents = unpack(folder / archive, [f"{stem}/{file}" for file in variant.files])
    return _decode(variant, dict(zip(variant.files, contents.values(), strict=True)), folder / archive)


def _decode(variant: Variant, contents: dict[str, bytes], origin: Path) -> Arrays:
    values = [parse_idx(content, origin / file) for file, content in contents.items()]
    arrays: Arrays = {}
    for split, (images, labels) in (("train", values[:2]), ("test", values[2:])):
        require(images.ndim == 3 and labels.ndim == 1, f"the {split} files in {origin} are not images and labels")
        require(len(images) == len(labels), f"{origin} has {len(images)} {split} images but {len(labels)} labels")
        arrays |= {f"{split}_x": images, f"{split}_y": labels}
    if variant.published.rows:
        return check_rows(variant.published, arrays, origin)
    return _check_counts(variant, arrays, origin)


def _check_counts(variant: Variant, arrays: Arrays, origin: Path) -> Arrays:
    """Returns the arrays if they have the published shapes and labels, for files whose rows have no known digest."""
    last = variant.first_label + variant.classes - 1
    for split, rows in zip(("train", "test"), variant.rows, strict=True):
        images, labels = arrays[f"{split}_x"], arrays[f"{split}_y"]
        wanted = (rows, SIDE, SIDE)
        require(
            images.shape == wanted,
            f"the {split} images of {variant.name} in {origin} have the shape {images.shape} instead of {wanted}",
        )
        lowest, highest = np.min(labels), np.max(labels)
        require(
            lowest >= variant.first_label and highest <= last,
            f"the {split} labels of {variant.name} in {origin} are {lowest} to {highest} instead of "
            f"{variant.first_label} to {last}",
        )
    return arrays
