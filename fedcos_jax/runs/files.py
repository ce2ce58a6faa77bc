"""Results on disk: one JSON file per run, which is either complete or absent."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from fedcos_jax.errors import InputError, require


def write(path: Path, result: dict[str, Any]) -> None:
    """Writes a result, with each list of numbers on one line. The file appears only when it is complete."""
    fields = [f"  {json.dumps(name)}: {_layout(value)}" for name, value in result.items()]
    write_text(path, "{\n" + ",\n".join(fields) + "\n}\n")


def _layout(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    fields = [f"    {json.dumps(name)}: {json.dumps(item, allow_nan=False)}" for name, item in value.items()]
    return "{\n" + ",\n".join(fields) + "\n  }"


def require_writable(path: Path) -> None:
    """Raises InputError if `write` could not write the file. Nothing is made yet."""
    require(not path.is_dir(), f"cannot write {path}: it is a folder")
    require_folder(path.parent, f"cannot write {path}")


def require_folder(folder: Path, failure: str) -> None:
    """Raises InputError, beginning with `failure`, if the folder could not be written to. Nothing is made yet."""
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    require(nearest.is_dir() and os.access(nearest, os.W_OK), f"{failure}: {nearest} is not a writable folder")


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, never a part."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """`write_text` for bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def read(path: Path) -> dict[str, Any]:
    """Reads a result."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the result {path}: {error}") from None
