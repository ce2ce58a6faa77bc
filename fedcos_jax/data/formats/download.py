"""Downloads of original files, checked before they are kept."""

import contextlib
import shutil
import socket
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from fedcos_jax.data.checksums import Published, check_file
from fedcos_jax.errors import InputError, require

_CONNECT_SECONDS = 0.8


def fetch(address: str, files: Sequence[str], folder: Path, published: Published) -> None:
    """Downloads the files that the folder does not have yet. Without a network it raises InputError within a second.

    Args:
        address: where the files are published. The name of a file is put behind it.
        files: names of the files.
        folder: where to put them.
        published: what they must hash to.
    """
    missing = [file for file in files if not (folder / file).is_file()]
    host = urllib.parse.urlsplit(address).hostname
    require(not missing or _reachable(address), f"{host} cannot be reached to download it")
    for file in missing:
        try:
            _fetch_file(address + file, folder / file, published)
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            raise InputError(f"downloading {address + file} failed ({error})") from None


def _fetch_file(address: str, path: Path, published: Published) -> None:
    """Downloads a file into a draft, which gets the file's name after it is complete and checked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as draft:
        with urllib.request.urlopen(address, timeout=30) as response, open(Path(draft, path.name), "wb") as stream:
            shutil.copyfileobj(response, stream)
        check_file(published, Path(draft), path.name)
        Path(draft, path.name).replace(path)


def _reachable(address: str) -> bool:
    """Whether a connection can be made at once. It is tried in a thread, because looking up a name has no timeout."""
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
