"""What the published data hashes to: a changed or broken copy is refused before anything is made of it."""

import hashlib
from pathlib import Path

import numpy as np

from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.errors import require

ROWS: dict[str, dict[str, str]] = {
    "fashion_mnist": {
        "train": "fb88a2f5c1b590c907f860b47803d006e4fa7b276cdb551799af9d443accdff7",
        "test": "0b381379398a0943a88bf3864ff3f5177903dcf178030b4b74c495294b38fa7c",
    },
    "cifar10": {
        "train": "6a3b2c04d0a79ce272dcdacaf0bc440275db5a8cbe3717521a28fada2ea0d2ed",
        "test": "65a6ffe079453e514083f99356b35e02cbfd581b4951e3937fae188974b79f39",
    },
    "cifar100": {
        "train": "640c97a4012a8aebfcaf57fd82a33dd43b37d2e397a02cb9b0a3d89e6d6d936d",
        "test": "a6a97df7b61bc7420bc44268696e8963d33129bc050978f2a63d8fe3420989fa",
    },
}
"""dataset -> split -> fingerprint of its rows."""

FILES: dict[str, str] = {
    "train-images-idx3-ubyte.gz": "sha256:3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte.gz": "sha256:a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3-ubyte.gz": "sha256:346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte.gz": "sha256:67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    "cifar-10-python.tar.gz": "sha256:6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "cifar-10-binary.tar.gz": "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    "cifar-100-python.tar.gz": "sha256:85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    "cifar-100-binary.tar.gz": "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    "cifar-10-batches-py/data_batch_1": "md5:c99cafc152244af753f735de768cd75f",
    "cifar-10-batches-py/data_batch_2": "md5:d4bba439e000b95fd0a9bffe97cbabec",
    "cifar-10-batches-py/data_batch_3": "md5:54ebc095f3ab1f0389bbae665268c751",
    "cifar-10-batches-py/data_batch_4": "md5:634d18415352ddfa80567beed471001a",
    "cifar-10-batches-py/data_batch_5": "md5:482c414d41f54cd18b22e5b47cb7c3cb",
    "cifar-10-batches-py/test_batch": "md5:40351d587109b95175f43aff81a1287e",
    "cifar-100-python/train": "md5:16019d7e3df5f24257cddd939b257f8d",
    "cifar-100-python/test": "md5:f0ef6b0ae62326f3e7ffdfab6717acfc",
}
"""Original files whose bytes are known, by their published names."""


def check_file(folder: Path, file: str) -> None:
    """Refuses an original whose bytes are not the published ones; files without a published digest pass."""
    if file not in FILES:
        return
    algorithm, expected = FILES[file].split(":")
    with open(folder / file, "rb") as stream:
        found = hashlib.file_digest(stream, algorithm).hexdigest()
    require(
        found == expected,
        f"{folder / file} is not the published file: its {algorithm.upper()} is {found[:16]}... "
        f"instead of {expected[:16]}...; fetch it again",
    )


def check_rows(name: str, arrays: Arrays, origin: object) -> Arrays:
    """Returns images whose rows are the published ones; refuses others.

    Args:
        name: of the dataset.
        arrays: its images and labels.
        origin: where they came from, for the message.
    """
    for split, expected in ROWS[name].items():
        found = fingerprint(arrays[f"{split}_x"], arrays[f"{split}_y"])
        require(
            found == expected,
            f"the {split} images or labels of {name} in {origin} are not the published ones: their fingerprint is "
            f"{found[:16]}... instead of {expected[:16]}...; fetch them again",
        )
    return arrays


def fingerprint(x: np.ndarray, y: np.ndarray) -> str:
    """SHA-256 of the sorted SHA-256s of the rows: equal for equal rows in any order, which differs between sources.

    Args:
        x: images, [rows, ...] bytes.
        y: labels below 256, [rows].
    """
    rows = np.concatenate([x.reshape(len(x), -1), y.astype(np.uint8)[:, None]], axis=1)
    return hashlib.sha256(b"".join(sorted(hashlib.sha256(row).digest() for row in rows))).hexdigest()
