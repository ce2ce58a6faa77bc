"""Compressed files and archives, with one line about a damaged one."""

import contextlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedcos_jax.errors import InputError, require


@contextlib.contextmanager
def damage_named(path: object, kind: str) -> Iterator[None]:
    """Turns what a damaged file raises while it is read into an InputError that names it.

    Args:
        path: the file that is read.
        kind: its format, e.g. "gzip".
    """
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged or not {kind} ({error}); fetch it again") from None


def unpack(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The contents of the named members of a tar.gz or a zip, in the order of the names. Nothing is written."""
    contents = (_unzip if path.suffix == ".zip" else _untar)(path, names)
    for name in names:
        require(name in contents, f"{path} has no {name} in it")
    return {name: contents[name] for name in names}


def _untar(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    with damage_named(path, "a tar.gz"), tarfile.open(path, "r:gz") as archive:
        members = ((member.name, archive.extractfile(member)) for member in archive if member.name in names)
        return {name: stream.read() for name, stream in members if stream is not None}


def _unzip(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    with damage_named(path, "a zip"), zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in names if name in archive.namelist()}
