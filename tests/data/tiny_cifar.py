"""A few random images that pass for CIFAR, in every form."""

import hashlib
import io
import json
import pickle
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

from fedcos_jax.data import checksums, cifar


class TinyCifar:
    """A few random images that pass for CIFAR, written in any form."""

    def __init__(self, variant: cifar.Variant, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.variant = variant
        rows = dict.fromkeys(variant.train, 10 // len(variant.train)) | dict.fromkeys(variant.test, 2)
        self.batches = {
            name: (rng.integers(0, 256, (n, 32, 32, 3), np.uint8), rng.integers(0, variant.classes, n).astype(np.uint8))
            for name, n in rows.items()
        }

    def arrays(self) -> dict[str, np.ndarray]:
        split = {"train": self.variant.train, "test": self.variant.test}
        return {
            f"{name}_{part}": np.concatenate([self.batches[batch][i] for batch in batches])
            for name, batches in split.items()
            for i, part in enumerate("xy")
        }

    def python(self, batch: str) -> bytes:
        images, labels = self.batches[batch]
        planes = np.ascontiguousarray(images.transpose(0, 3, 1, 2).reshape(len(images), -1))
        return pickle.dumps({b"data": planes, self.variant.label_key.encode(): labels.tolist()}, protocol=3)

    def binary(self, batch: str) -> bytes:
        images, labels = self.batches[batch]
        planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
        coarse = np.full((len(labels), self.variant.label_bytes - 1), 7, np.uint8)
        return np.concatenate([coarse, labels[:, None], planes], axis=1).tobytes()

    def files(self, form: str) -> dict[str, bytes]:
        variant, batches = self.variant, self.variant.train + self.variant.test
        if form.startswith("python"):
            return {f"{variant.python_folder}/{batch}": self.python(batch) for batch in batches}
        if form.startswith("binary"):
            return {f"{variant.binary_folder}/{batch}.bin": self.binary(batch) for batch in batches}
        return self.pixel_rows() if form == "npm" else self.packed()

    def pixel_rows(self) -> dict[str, bytes]:
        arrays = self.arrays()
        images = {f"{b}.png": encoded(x.reshape(len(x), 1024, 3), "PNG") for b, (x, _) in self.batches.items()}
        labels = {f"{s}_lables.json": json.dumps(arrays[f"{s}_y"].tolist()).encode() for s in ("train", "test")}
        return images | labels

    def packed(self) -> dict[str, bytes]:
        """Sheets of 1 x 2 tiles."""
        arrays, files, manifest = self.arrays(), {}, {"tile": [1, 2]}
        for split, count in (("train", 5), ("test", 1)):
            x, y = arrays[f"{split}_x"], arrays[f"{split}_y"]
            sheets = [f"{split}_{i}.webp" for i in range(count)]
            for sheet, pair in zip(sheets, x.reshape(count, 2, 32, 32, 3), strict=True):
                files[sheet] = encoded(np.concatenate(pair, axis=1), "WEBP", lossless=True, exact=True)
            files[f"{split}_labels.u8"] = y.tobytes()
            digests = {f"sha256_{what}": hashlib.sha256(a).hexdigest() for what, a in (("pixels", x), ("labels", y))}
            manifest[split] = {"sheets": sheets, "labels": f"{split}_labels.u8", "rows": 2 * count, **digests}
        return files | {"manifest.json": json.dumps(manifest).encode()}

    def write(self, form: str, folder: Path) -> list[Path]:
        """Writes the files of a form ("python", "python archive", "binary", ...) and returns them."""
        files = self.files(form)
        if form.endswith("archive"):
            stem = self.variant.python if form.startswith("python") else self.variant.binary
            files = {f"{stem}.tar.gz": archived(files)}
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return [folder / name for name in files]

    def publish(self, monkeypatch, paths: list[Path] = (), folder: Path | None = None) -> None:
        """Makes these images and these files the published ones."""
        arrays = self.arrays()
        rows = {s: checksums.fingerprint(arrays[f"{s}_x"], arrays[f"{s}_y"]) for s in ("train", "test")}
        for split, digest in rows.items():
            monkeypatch.setitem(self.variant.published.rows, split, digest)
        for path in paths:
            name = str(path.relative_to(folder))
            if name in self.variant.published.files:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                monkeypatch.setitem(self.variant.published.files, name, f"sha256:{digest}")


def encoded(pixels: np.ndarray, form: str, **options) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form, **options)
    return stream.getvalue()


def archived(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()
