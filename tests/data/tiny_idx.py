"""A few random images that pass for one of the MNIST family, as idx files or as EMNIST's archive."""

import gzip
import hashlib
import zipfile
from pathlib import Path

import numpy as np

from fedcos_jax.data import mnist
from fedcos_jax.data.checksums import Published
from fedcos_jax.data.registry import DATASETS
from tests.data.formats.test_idx import idx

ROWS = (30, 12)


class TinyIdx:
    """A few random images in the files of a variant, with every label of it."""

    def __init__(self, name: str, rows: tuple[int, int] = ROWS):
        published = next(variant for variant in mnist.VARIANTS if variant.name == name)
        rng = np.random.default_rng(0)
        self.images = [rng.integers(0, 256, (count, 28, 28), np.uint8) for count in rows]
        self.labels = [
            (np.arange(count) % published.classes + published.first_label).astype(np.uint8) for count in rows
        ]
        parts = (self.images[0], self.labels[0], self.images[1], self.labels[1])
        self.files = {file: gzip.compress(idx(part), 1) for file, part in zip(published.files, parts, strict=True)}
        digests = {file: sha256(content) for file, content in self.files.items() if file in published.published.files}
        self.variant = published._replace(rows=rows, published=Published(name, {}, digests))

    def publish(self, monkeypatch) -> None:
        """Makes these images the published ones."""
        catalogue = self.variant.catalogue._replace(published=self.variant.published)
        self.variant = self.variant._replace(catalogue=catalogue)
        monkeypatch.setitem(DATASETS, self.variant.name, mnist.entry(self.variant))

    def write(self, folder: Path) -> Path:
        """Writes the idx files."""
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in self.files.items():
            (folder / file).write_bytes(content)
        return folder

    def write_archive(self, folder: Path) -> Path:
        """Writes EMNIST's archive, and makes its digest the published one."""
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / mnist.EMNIST_ARCHIVE, "w") as archive:
            for file, content in self.files.items():
                archive.writestr(f"gzip/{file}", content)
        self.variant.published.files[mnist.EMNIST_ARCHIVE] = sha256((folder / mnist.EMNIST_ARCHIVE).read_bytes())
        return folder


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()
