"""Image datasets in the on-disk format of TensorFlow Datasets, without TensorFlow.

`tfds.data_source` reads them as array_record. The builders that come with TFDS need TensorFlow to prepare a dataset.
The builder here writes the same files without it, from the original archives.
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.data.checksums import Published, check_rows
from fedcos_jax.data.formats import download
from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.errors import require

EXTRA = "pip install array_record importlib_resources"
"""Installs what TFDS needs without TensorFlow."""
_TO_READ = ("tensorflow_datasets", "array_record")
_TO_PREPARE = (*_TO_READ, "importlib_resources")
_FORMAT = "array_record"
_SPLITS = ("train", "test")
_BLOCK = 2000
"""Records that are read at once. This is three times as fast as reading them one by one."""


class Catalogue(NamedTuple):
    """A dataset as TensorFlow Datasets knows it."""

    published: Published
    version: str
    image: tuple[int, int, int]
    """(height, width, channels)."""
    classes: int
    address: str
    """Where the original files are published."""
    files: tuple[str, ...]
    """Names of the original files behind that address."""
    builder: str = ""
    """Its name there, with that of its config: `emnist/letters`. Empty if it is the same as ours."""

    @property
    def name(self) -> str:
        """Name of the dataset there, with that of its config if it has one."""
        return self.builder or self.published.name


def data_root() -> Path:
    """Where TFDS keeps its datasets: TFDS_DATA_DIR, else ~/tensorflow_datasets."""
    return Path(os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets").expanduser()


def originals_folder(catalogue: Catalogue) -> Path:
    """Where downloaded original files are kept. Datasets whose files have equal names have different folders."""
    return data_root() / "downloads" / "manual" / catalogue.name.split("/")[0]


def find(catalogue: Catalogue, roots: Sequence[Path]) -> Path | None:
    """The folder of the newest prepared version of a dataset in the first root that has one. TFDS is not imported."""
    for root in roots:
        described = sorted((root / catalogue.name).glob("*/dataset_info.json"))
        if described:
            return described[-1].parent
    return None


def read(catalogue: Catalogue, folder: Path) -> Arrays:
    """The checked images [rows, ...] and labels [rows] of a prepared dataset, in their original order."""
    _require_modules(_TO_READ)
    found = json.loads((folder / "dataset_info.json").read_text()).get("fileFormat", "tfrecord")
    require(found == _FORMAT, f"{folder} is in the format {found}; prepare it again with file_format={_FORMAT!r}")
    with _quiet():
        import tensorflow_datasets

        name, root = f"{catalogue.name}:{folder.name}", folder.parents[len(Path(catalogue.name).parts)]
        sources = {split: tensorflow_datasets.data_source(name, data_dir=root, split=split) for split in _SPLITS}
        arrays: Arrays = {}
        for split, source in sources.items():
            arrays |= _read_split(split, source, catalogue.image)
    return check_rows(catalogue.published, arrays, folder)


def _read_split(split: str, source: Any, shape: tuple[int, int, int]) -> Arrays:
    images, labels = np.empty((len(source), *shape), np.uint8), np.empty(len(source), np.uint8)
    rows = original_rows(split, len(source))
    for start in range(0, len(source), _BLOCK):
        records = source.__getitems__(range(len(source))[start : start + _BLOCK])
        for row, record in zip(rows[start : start + _BLOCK], records, strict=True):
            images[row], labels[row] = record["image"], record["label"]
    return {f"{split}_x": images[..., 0] if shape[-1] == 1 else images, f"{split}_y": labels}


def original_rows(split: str, rows: int) -> list[int]:
    """The original row of each record. TFDS sorts records by the MD5 of the split's name and the row's number."""
    digests = [hashlib.md5(f"{split}{row}".encode(), usedforsecurity=False).digest() for row in range(rows)]
    return sorted(range(rows), key=digests.__getitem__)


def prepare(catalogue: Catalogue, arrays: Arrays) -> Path:
    """Writes arrays in TFDS's own format, as its built-in builder would, and returns their folder."""
    require_preparation()
    with _quiet():
        builder = _builder(catalogue, arrays)
        builder.download_and_prepare()
    return Path(builder.data_dir)


def _builder(catalogue: Catalogue, arrays: Arrays) -> Any:
    import tensorflow_datasets as tfds

    features = {
        "image": tfds.features.Image(shape=catalogue.image),
        "label": tfds.features.ClassLabel(num_classes=catalogue.classes),
    }
    # The built-in builder of the same name must stay registered, because it reads what this one writes.
    with tfds.core.registered.skip_registration():

        class Builder(tfds.core.GeneratorBasedBuilder):
            VERSION = tfds.core.Version(catalogue.version)

            def _info(self):
                return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

            def _split_generators(self, dl_manager):
                return {split: self._generate_examples(split) for split in _SPLITS}

            def _generate_examples(self, split):
                for row, image in enumerate(arrays[f"{split}_x"]):
                    yield row, {"image": _png(image), "label": int(arrays[f"{split}_y"][row])}

    Builder.name, *config = catalogue.name.split("/")
    Builder.BUILDER_CONFIGS = [tfds.core.BuilderConfig(name=name) for name in config]
    return Builder(data_dir=data_root(), file_format=_FORMAT)


def _png(image: np.ndarray) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def fetch_originals(catalogue: Catalogue) -> Path:
    """Downloads the original files into their folder, and returns it."""
    folder = originals_folder(catalogue)
    download.fetch(catalogue.address, catalogue.files, folder, catalogue.published)
    return folder


def require_preparation() -> None:
    """Raises InputError if a package is missing that preparation needs."""
    _require_modules(_TO_PREPARE)


def _require_modules(modules: Sequence[str]) -> None:
    for module in modules:
        present = importlib.util.find_spec(module) is not None
        require(present, f"TensorFlow Datasets needs the package {module}, which is not installed: {EXTRA}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides what TFDS prints and logs."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
