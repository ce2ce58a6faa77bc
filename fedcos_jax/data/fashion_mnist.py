"""Fashion-MNIST from its four original files, `train-images-idx3-ubyte.gz` and so on."""

from pathlib import Path

from fedcos_jax.data.checksums import Published, check_rows
from fedcos_jax.data.dataset import Dataset, image_dataset, scaled
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.data.formats.idx import read_idx
from fedcos_jax.data.formats.tfds import Catalogue
from fedcos_jax.errors import require

CLASSES, SIDE = 10, 28
ADDRESS = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
DEBIAN_FOLDER = "/usr/share/datasets/fashion-mnist"
"""Where Debian's package dataset-fashion-mnist puts the files."""
PUBLISHED = Published(
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
)
FILES = tuple(PUBLISHED.files)


def build(arrays: Arrays) -> Dataset:
    """60,000 training and 10,000 test images of 28x28 bytes. Pixels are scaled to [-1, 1] as in the authors' code."""
    return image_dataset(PUBLISHED.name, arrays, CLASSES, scaled(255.0, 0.5, 0.5))


def read(folder: Path) -> Arrays:
    """The checked images [rows, 28, 28] and labels [rows] of both splits."""
    return check_rows(PUBLISHED, _read_split(folder, "train", "train") | _read_split(folder, "t10k", "test"), folder)


def _read_split(folder: Path, prefix: str, split: str) -> Arrays:
    images = read_idx(folder / f"{prefix}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz")
    require(images.ndim == 3 and labels.ndim == 1, f"the {prefix} files in {folder} are not images and labels")
    require(len(images) == len(labels), f"{folder} has {len(images)} {prefix} images but {len(labels)} labels")
    return {f"{split}_x": images, f"{split}_y": labels}


ENTRY = DatasetEntry(
    summary="70,000 fashion products, 28x28, 10 classes",
    rows=(60_000, 10_000),
    shape=(SIDE, SIDE),
    build=build,
    forms=(Form("original idx gz files", FILES, read, places=("fashion-mnist", DEBIAN_FOLDER)),),
    catalogue=Catalogue(PUBLISHED, "3.0.1", (SIDE, SIDE, 1), CLASSES, ADDRESS, FILES),
    advice="the four gz files of its repository in DATA/fashion_mnist, or Debian's package dataset-fashion-mnist",
)
