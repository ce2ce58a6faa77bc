"""Image datasets in the on-disk format of TensorFlow Datasets, without TensorFlow.

`tfds.data_source` reads them as array_record. The builders that come with TFDS need TensorFlow to prepare a dataset;
the one here writes the same files without it, from the original archives, found on this machine or downloaded.
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import logging
import os
import shutil
import socket
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.data.checksums import check_file, check_rows
from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.errors import InputError, require

EXTRA = "pip install array_record importlib_resources"
_TO_READ = ("tensorflow_datasets", "array_record")
_TO_PREPARE = (*_TO_READ, "importlib_resources")
_CONNECT_SECONDS = 0.8
_FORMAT = "array_record"
_SPLITS = ("train", "test")
_BLOCK = 2000
"""Records read at once: three times as fast as one by one."""


class Catalogue(NamedTuple):
    """A dataset as TensorFlow Datasets knows it."""

    name: str
    version: str
    image: tuple[int, int, int]
    classes: int
    address: str
    """Where the originals are published."""
    files: tuple[str, ...]


def data_root() -> Path:
    """Where TFDS keeps its datasets: TFDS_DATA_DIR, else ~/tensorflow_datasets."""
    return Path(os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets").expanduser()


def manual_folder() -> Path:
    """Where TFDS looks for originals that were put there by hand."""
    return data_root() / "downloads" / "manual"


def find(catalogue: Catalogue, roots: Sequence[Path]) -> Path | None:
    """The newest prepared version of a dataset in the first root that has one; TFDS is not imported for this."""
    for root in roots:
        described = sorted((root / catalogue.name).glob("*/dataset_info.json"))
        if described:
            return described[-1].parent
    return None


def read(catalogue: Catalogue, folder: Path) -> Arrays:
    """The images and labels of a prepared dataset, in their original order, checked."""
    _require_modules(_TO_READ)
    found = json.loads((folder / "dataset_info.json").read_text()).get("fileFormat", "tfrecord")
    require(found == _FORMAT, f"{folder} is in the format {found}; prepare it again with file_format={_FORMAT!r}")
    with _quiet():
        import tensorflow_datasets

        name, root = f"{catalogue.name}:{folder.name}", folder.parent.parent
        sources = {split: tensorflow_datasets.data_source(name, data_dir=root, split=split) for split in _SPLITS}
        arrays: Arrays = {}
        for split, source in sources.items():
            arrays |= _read_split(split, source, catalogue.image)
    return check_rows(catalogue.name, arrays, folder)


def _read_split(split: str, source: Any, shape: tuple[int, int, int]) -> Arrays:
    images, labels = np.empty((len(source), *shape), np.uint8), np.empty(len(source), np.uint8)
    rows = _original_rows(split, len(source))
    for start in range(0, len(source), _BLOCK):
        records = source.__getitems__(range(len(source))[start : start + _BLOCK])
        for row, record in zip(rows[start : start + _BLOCK], records, strict=True):
            images[row], labels[row] = record["image"], record["label"]
    return {f"{split}_x": images[..., 0] if shape[-1] == 1 else images, f"{split}_y": labels}


def _original_rows(split: str, rows: int) -> list[int]:
    """The original row of each record: TFDS orders records by the MD5 of the split's name and the row's number."""
    digests = [hashlib.md5(f"{split}{row}".encode(), usedforsecurity=False).digest() for row in range(rows)]
    return sorted(range(rows), key=digests.__getitem__)


def prepare(catalogue: Catalogue, arrays: Arrays) -> Path:
    """Writes arrays in TFDS's own format, as its built-in builder would; returns the folder."""
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
    # Registered, it would clash with the built-in builder of the same name, which is to read what this one writes.
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

    Builder.name = catalogue.name
    return Builder(data_dir=data_root(), file_format=_FORMAT)


def _png(image: np.ndarray) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def download(catalogue: Catalogue) -> Path:
    """Fetches the originals into TFDS's folder for them, checked; refuses within a second where there is no network."""
    folder = manual_folder()
    missing = [file for file in catalogue.files if not (folder / file).is_file()]
    host = urllib.parse.urlsplit(catalogue.address).hostname
    require(not missing or _reachable(catalogue.address), f"{host} cannot be reached to download it")
    for file in missing:
        try:
            _download_file(catalogue.address + file, folder / file)
        except urllib.error.HTTPError as error:
            error.close()
            raise InputError(f"downloading {catalogue.address + file} failed ({error})") from None
        except OSError as error:
            raise InputError(f"downloading {catalogue.address + file} failed ({error})") from None
    return folder


def _download_file(address: str, path: Path) -> None:
    """Under a name of its own until it is complete and checked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as draft:
        with urllib.request.urlopen(address, timeout=30) as response, open(Path(draft, path.name), "wb") as stream:
            shutil.copyfileobj(response, stream)
        check_file(Path(draft), path.name)
        Path(draft, path.name).replace(path)


def _reachable(address: str) -> bool:
    """Whether a connection comes about at once; in a thread, because looking up a name heeds no timeout."""
    parts = urllib.parse.urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    connected = threading.Event()

    def connect() -> None:
        with contextlib.suppress(OSError), socket.create_connection((parts.hostname, port), _CONNECT_SECONDS / 2):
            connected.set()

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_CONNECT_SECONDS)
    return connected.is_set()


def require_preparation() -> None:
    """Refuses to begin where the packages that preparation needs are missing."""
    _require_modules(_TO_PREPARE)


def _require_modules(modules: Sequence[str]) -> None:
    for module in modules:
        present = importlib.util.find_spec(module) is not None
        require(present, f"TensorFlow Datasets needs the package {module}, which is not installed: {EXTRA}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what TFDS prints and logs away from the output of ours."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
