"""Decoded datasets, kept so that decoding happens once a machine.

An entry is a folder of `.npy` files that appears under its name in one step, complete, so two processes that
prepare the same dataset at once do no harm: one of them is first and the other one's copy is dropped.
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
"""Raised whenever a decoder gives other arrays for the same files, or entries change their layout."""
CACHE_DIR_VARIABLE = "FEDCOS_CACHE_DIR"


def cache_directory() -> Path:
    """FEDCOS_CACHE_DIR, else `fedcos` in XDG_CACHE_HOME, else in ~/.cache."""
    if given := os.environ.get(CACHE_DIR_VARIABLE):
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fedcos"


def entry_path(name: str, paths: Iterable[Path]) -> Path:
    """The entry of a dataset decoded from these files as they are now: names, sizes and times of change count."""
    states = ((str(path.resolve()), path.stat()) for path in paths)
    text = repr([(path, state.st_size, state.st_mtime_ns) for path, state in states])
    return cache_directory() / f"v{VERSION}" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def latest(name: str) -> Path | None:
    """The newest entry of a dataset, whatever files it came from, or None."""
    entries = (cache_directory() / f"v{VERSION}").glob(f"{name}-*")
    return max(entries, key=lambda entry: entry.stat().st_mtime, default=None)


def read(entry: Path) -> Arrays | None:
    """The arrays of an entry, mapped and read when they are used; None if there is no such entry or it is damaged."""
    try:
        maps = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(entry.glob("*.npy"))}
    except (OSError, ValueError, EOFError):
        return None
    return {name: np.asarray(mapped) for name, mapped in maps.items()} or None


def read_or_prepare(entry: Path, prepare: Callable[[], Arrays]) -> Arrays:
    """The arrays of an entry, made first if need be; what `prepare` refuses is not stored."""
    arrays = read(entry)
    if arrays is None:
        arrays = prepare()
        write(entry, arrays)
    return arrays


def write(entry: Path, arrays: Arrays) -> None:
    """Stores an entry in one step; a place that cannot be written to only means that nothing is kept."""
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
