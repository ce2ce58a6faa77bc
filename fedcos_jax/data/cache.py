"""A cache of decoded datasets, so that a machine decodes each of them once.

An entry is a folder of `.npy` files. It gets its name in one step, after it is complete, so two processes may prepare
the same dataset at the same time. The first one to finish makes the entry, and the copy of the other one is deleted.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from fedcos_jax.data.formats.forms import Arrays

VERSION = 1
"""Goes up whenever a decoder gives other arrays for the same files, or entries change their layout."""
CACHE_DIR_VARIABLE = "FEDCOS_CACHE_DIR"


def cache_directory() -> Path:
    """The folder of the cache: FEDCOS_CACHE_DIR, else `fedcos` in XDG_CACHE_HOME, else `fedcos` in ~/.cache."""
    if given := os.environ.get(CACHE_DIR_VARIABLE):
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fedcos"


def entry_path(name: str, paths: Iterable[Path]) -> Path:
    """The entry of a dataset that is decoded from these files. It depends on their names, sizes and times of change."""
    states = ((str(path.resolve()), path.stat()) for path in paths)
    text = repr([(path, state.st_size, state.st_mtime_ns) for path, state in states])
    return cache_directory() / f"v{VERSION}" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def latest(name: str) -> Path | None:
    """The newest entry of a dataset, from whichever files, or None."""
    entries = (cache_directory() / f"v{VERSION}").glob(f"{name}-*")
    return max(entries, key=lambda entry: entry.stat().st_mtime, default=None)


def read(entry: Path) -> Arrays | None:
    """The arrays of an entry, memory-mapped. None if there is no such entry or if it is damaged."""
    try:
        maps = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(entry.glob("*.npy"))}
    except (OSError, ValueError, EOFError):
        return None
    return {name: np.asarray(mapped) for name, mapped in maps.items()} or None


def read_or_prepare(entry: Path, prepare: Callable[[], Arrays]) -> Arrays:
    """The arrays of an entry. If there is none, `prepare` makes them and they are stored, unless it raises."""
    arrays = read(entry)
    if arrays is None:
        arrays = prepare()
        write(entry, arrays)
    return arrays


def write(entry: Path, arrays: Arrays) -> None:
    """Stores an entry in one step. If the place cannot be written to, nothing is stored and nothing is raised."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    except OSError:
        return
    try:
        for name, array in arrays.items():
            np.save(draft / f"{name}.npy", array, allow_pickle=False)
        if entry.exists() and read(entry) is None:
            shutil.rmtree(entry, ignore_errors=True)
        draft.rename(entry)
    except OSError:
        return
    finally:
        shutil.rmtree(draft, ignore_errors=True)
