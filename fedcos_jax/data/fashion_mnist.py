"""Fashion-MNIST from its four original files, `train-images-idx3-ubyte.gz` and so on."""

import gzip
import zlib
from pathlib import Path

import numpy as np

from fedcos_jax.data.dataset import Dataset, scaled
from fedcos_jax.errors import InputError, require
from fedcos_jax.types import Examples

FOLDER = "fashion_mnist"
CLASSES = 10
_UNSIGNED_BYTES = 0x08


def load(data_dir: Path | None) -> Dataset:
    """60,000 training and 10,000 test images of 28x28 bytes; pixels are scaled to [-1, 1] as in the authors' code."""
    if data_dir is None:
        raise InputError(
            f"fashion_mnist needs its files: set FEDCOS_DATA_DIR or --data-dir to a folder that holds {FOLDER}/*.gz"
        )
    folder = data_dir / FOLDER
    require(folder.is_dir(), f"no folder {FOLDER!r} in the data directory {data_dir}")
    return Dataset(
        name="fashion_mnist",
        train=_read_split(folder, "train"),
        test=_read_split(folder, "t10k"),
        classes=CLASSES,
        preprocess=scaled(255.0, 0.5, 0.5),
    )


def _read_split(folder: Path, split: str) -> Examples:
    images = read_idx(folder / f"{split}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{split}-labels-idx1-ubyte.gz")
    require(images.ndim == 3 and labels.ndim == 1, f"the {split} files in {folder} are not images and labels")
    require(len(images) == len(labels), f"{len(images)} {split} images but {len(labels)} labels in {folder}")
    return Examples(images, labels.astype(np.int32))


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
    shape = np.frombuffer(content[4:start], ">u4").astype(int)
    values = np.frombuffer(content, np.uint8, offset=min(start, len(content)))
    require(values.size == shape.prod(), f"{path} holds {values.size} values instead of {shape.prod()}; fetch it again")
    return values.reshape(shape)
