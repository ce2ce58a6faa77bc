"""One call loads every dataset, from local files, from TensorFlow Datasets or from the package itself."""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fedcos_jax.data import cache
from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.formats import forms, tfds
from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.data.registry import DATASETS
from fedcos_jax.errors import InputError, require, require_known

DATA_DIR_VARIABLE = "FEDCOS_DATA_DIR"
SOURCES = ("auto", "files", "tfds", "embedded")


class Origin(NamedTuple):
    """A place on this machine that has a dataset."""

    where: str
    """What the place is, for messages."""
    entry: Path
    """The entry in the cache of decoded datasets."""
    read: Callable[[], Arrays]
    """Decodes and checks the arrays."""

    @property
    def prepared(self) -> bool:
        """Whether the arrays have been decoded and checked before."""
        return self.entry.is_dir()


def data_directory(given: str | os.PathLike | None = None) -> Path | None:
    """The folder of local data: the given one, else the one that FEDCOS_DATA_DIR names, else None."""
    name = given or os.environ.get(DATA_DIR_VARIABLE)
    if not name:
        return None
    folder = Path(name).expanduser()
    require(folder.is_dir(), f"the data directory {folder} does not exist")
    return folder


def load(name: str, source: str = "auto", data_dir: str | os.PathLike | None = None) -> Dataset:
    """Loads a dataset by name. Its arrays are the same from every source.

    Files are checked and decoded once, then kept in a cache.

    Args:
        name: one of DATASETS, some of them with numbers in brackets, like `synthetic(1,1)` or `digits(16)`.
        source: "files", "tfds" or "embedded". "auto" takes local files, else the cache, else TensorFlow Datasets.
        data_dir: folder of the local files. None for the folder that FEDCOS_DATA_DIR names.

    Example:
        >>> fc.load("digits").train.x.shape
        (1437, 8, 8)
    """
    require(not name.endswith(".safetensors"), f"{name} holds parameters, not a dataset: fc.load_params reads it")
    entry, numbers = parse(name)
    require_known(source, SOURCES, "source")
    if entry.embedded:
        require(source in ("auto", "embedded"), f"{name} is embedded: it has no source {source!r}")
        return entry.build(*numbers)
    require(source != "embedded", f"{name} is not embedded: its sources are auto, files and tfds")
    folder = data_directory(data_dir)
    origin = locate(name, source, folder) or _fetch(name, source, folder)
    return entry.build(cache.read_or_prepare(origin.entry, origin.read))


def parse(name: str) -> tuple[DatasetEntry, list[float]]:
    """The registry's row that a name like `digits` or `synthetic(1,0.5)` means, and the numbers in its brackets."""
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?", name)
    word, inside = match.groups() if match else (name, None)
    require_known(word, DATASETS, "dataset")
    entry = DATASETS[word]
    texts = inside.split(",") if inside else []
    require(inside is None or bool(entry.numbers), f"dataset {word!r} takes no numbers, got {name!r}")
    require(len(texts) <= len(entry.numbers), f"dataset {word!r} takes at most {len(entry.numbers)} numbers: {name!r}")
    try:
        return entry, [read(text) for read, text in zip(entry.numbers, texts, strict=False)]
    except ValueError:
        raise InputError(f"cannot read the numbers of {name!r}; an example is {entry.example!r}") from None


def locate(name: str, source: str, data_dir: Path | None) -> Origin | None:
    """Where a dataset is on this machine, or None. Nothing is decoded yet."""
    entry, incomplete = DATASETS[name], None
    try:
        found = forms.find(name, entry.forms, data_dir) if source in ("auto", "files") else None
    except InputError as error:
        # The files may belong to something else, so this is a mistake only if no other place has the dataset.
        found, incomplete = None, error
    if found is not None:
        return Origin(f"{found.form.summary} in {found.folder}", cache.entry_path(name, found.paths), found.read)
    if source == "auto" and not entry.varies and (kept := cache.latest(name)):
        return Origin("the prepared cache", kept, partial(_vanished, name, kept))
    if source in ("auto", "tfds") and entry.catalogue is not None:
        near = [] if data_dir is None else [data_dir, data_dir / "tensorflow_datasets"]
        if folder := tfds.find(entry.catalogue, [*near, tfds.data_root()]):
            return _from_tfds(entry.catalogue, folder)
    if incomplete is not None:
        raise incomplete
    return None


def _from_tfds(catalogue: tfds.Catalogue, folder: Path) -> Origin:
    kept = cache.entry_path(catalogue.published.name, sorted(folder.iterdir()))
    return Origin(f"TensorFlow Datasets in {folder}", kept, partial(tfds.read, catalogue, folder))


def describe(name: str, data_dir: Path | None) -> str:
    """One line about where a dataset is on this machine and whether it has been checked, or about how to get it."""
    entry = DATASETS[name]
    if entry.embedded:
        return "embedded: nothing to fetch or check"
    try:
        origin = locate(name, "auto", data_dir)
    except InputError as error:
        return str(error)
    if origin is None:
        online = "" if entry.catalogue is None else "; with internet it is fetched through TensorFlow Datasets"
        return f"not found: get {entry.advice}{online}"
    done, open_ = ("prepared", "not read yet") if entry.varies else ("checksums match, prepared", "not checked yet")
    return f"{origin.where} ({done if origin.prepared else f'{open_}: fedcos data prepare {name}'})"


def _vanished(name: str, entry: Path) -> Arrays:
    raise InputError(f"the prepared {name} in {entry} is damaged: delete it and prepare it again")


def _fetch(name: str, source: str, data_dir: Path | None) -> Origin:
    """Prepares a dataset that is not on this machine through TFDS, or raises one line about what to do instead."""
    entry = DATASETS[name]
    looked = f"no files of it in {data_dir}" if data_dir else f"{DATA_DIR_VARIABLE} and --data-dir are not set"
    alternatives = f"get {entry.advice}, and set {DATA_DIR_VARIABLE} or --data-dir to DATA"
    require(source != "files", f"{name} was not found ({looked}): {alternatives}")
    if entry.catalogue is None:
        require(source != "tfds", f"{name} is not in TensorFlow Datasets: {alternatives}")
        raise InputError(f"{name} was not found ({looked}): {alternatives}")
    try:
        tfds.require_preparation()
        originals = tfds.originals_folder(entry.catalogue)
        near = forms.find(name, entry.forms, data_dir) or forms.find(name, entry.forms, originals)
        found = near or forms.find(name, entry.forms, tfds.fetch_originals(entry.catalogue))
        if found is None:
            raise InputError(f"its download in {originals} is incomplete")
        folder = tfds.prepare(entry.catalogue, found.read())
    except InputError as error:
        raise InputError(f"{name} was not found ({looked}) and {error}; or {alternatives}") from None
    return _from_tfds(entry.catalogue, folder)
