"""Fashion-MNIST from its four original files, `train-images-idx3-ubyte.gz` and so on."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from fedcos_jax.data.checksums import check_rows
from fedcos_jax.data.dataset import Dataset, image_dataset, scaled
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.errors import InputError, require

NAME = "fashion_mnist"
CLASSES = 10
FILES = tuple(f"{prefix}-{what}-ubyte.gz" for prefix in ("train", "t10k") for what in ("images-idx3", "labels-idx1"))
DEBIAN_FOLDER = "/usr/share/datasets/fashion-mnist"
"""Of the package dataset-fashion-mnist."""
_UNSIGNED_BYTES = 0x08


def build(arrays: Arrays) -> Dataset:
    """60,000 training and 10,000 test images of 28x28 bytes; pixels are scaled to [-1, 1] as in the authors' code."""
    return image_dataset(NAME, arrays, CLASSES, scaled(255.0, 0.5, 0.5))


def read(folder: Path) -> Arrays:
    """The images and labels of both splits, checked."""
    return check_rows(NAME, _read_split(folder, "train", "train") | _read_split(folder, "t10k", "test"), folder)


def _read_split(folder: Path, prefix: str, split: str) -> Arrays:
    images = read_idx(folder / f"{prefix}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz")
    require(images.ndim == 3 and labels.ndim == 1, f"the {prefix} files in {folder} are not images and labels")
    require(len(images) == len(labels), f"{len(images)} {prefix} images but {len(labels)} labels in {folder}")
    return {f"{split}_x": images, f"{split}_y": labels}


def read_idx(path: Path) -> np.ndarray:
    """Reads a gzipped idx file of unsigned bytes.

    The format: two zero bytes, a type byte, the number of dimensions, each dimension as a big-endian 32-bit
    integer, then the values.
    """
    require(path.is_file(), f"missing file {path}")
    try:
        with gzip.open(path) as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged or not gzip ({error}); fetch it again") from None
    require(len(content) >= 4 and content[:3] == bytes([0, 0, _UNSIGNED_BYTES]), f"{path} is not an idx file of bytes")
    start = 4 + 4 * content[3]
    require(len(content) > start, f"{path} ends inside its header or behind it; fetch it again")
    shape = np.frombuffer(content[4:start], ">u4").astype(int)
    values = np.frombuffer(content, np.uint8, offset=start)
    require(values.size == shape.prod(), f"{path} holds {values.size} values instead of {shape.prod()}; fetch it again")
    return values.reshape(shape)


FORMS = (Form("original idx gz files", FILES, read, places=("fashion-mnist", DEBIAN_FOLDER)),)
