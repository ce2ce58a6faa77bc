"""Settings declared once, as the fields of a dataclass: the flags of a command and the keys of its config file.

A flag and a key of the file have the same name and the same reader. A setting that is not given keeps its default.
"""

import dataclasses
import json
import tomllib
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from fedcos_jax.errors import InputError, require_known

Kind = Literal["shape", "number", "machine"]
"""What depends on a setting.

- `shape`: the compiled program, and so every number.
- `number`: numbers only. It is traced, so a sweep can vary it without compiling anew.
- `machine`: neither. It says where and how to compute or what to write.
"""


def setting(default: Any, group: str, text: str, kind: Kind = "machine", also: str | None = None) -> Any:
    """A field of a dataclass of settings: its heading and text in `--help`, what depends on it, and a second flag."""
    return dataclasses.field(default=default, metadata={"group": group, "help": text, "kind": kind, "also": also})


def of_kind(settings: type, *kinds: Kind) -> tuple[str, ...]:
    """The names of the settings of these kinds, in the order of the class."""
    return tuple(field.name for field in dataclasses.fields(settings) if field.metadata["kind"] in kinds)


def declared(kind: type) -> dict[str, dataclasses.Field]:
    """The settings of a dataclass, by name."""
    return {field.name: field for field in dataclasses.fields(kind)}


def from_text(kind: type, texts: dict[str, str]) -> dict[str, Any]:
    """Settings given as text, each read as its type."""
    fields = declared(kind)
    for name in texts:
        require_known(name, fields, "setting")
    return {name: read(text, type_of(fields[name]), name, _optional(fields[name])) for name, text in texts.items()}


def read(text: str, wanted: type, name: str, optional: bool = False) -> Any:
    """A text as a str, int, float or bool. If it is optional, it may be `none`."""
    if optional and text.lower() == "none":
        return None
    if wanted is str:
        return text
    words, reader = _READERS[wanted]
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise InputError(f"{name.replace('_', ' ')} must be {words}, got {text!r}") from None


_READERS: dict[type, tuple[str, Callable[[str], Any]]] = {
    int: ("a whole number", int),
    float: ("a number", float),
    bool: ("true or false", lambda text: {"true": True, "false": False}[text.lower()]),
}


def type_of(field: dataclasses.Field) -> Any:
    """The type of a setting, without the None of an optional one."""
    return (typing.get_args(field.type) or (field.type,))[0]


def _optional(field: dataclasses.Field) -> bool:
    return type(None) in typing.get_args(field.type)


def read_file(path: Path, allowed: Iterable[str]) -> dict[str, str]:
    """The settings of a TOML file as text. Every key must be one of those allowed."""
    values = read_toml(path)
    for name in values:
        require_known(name, allowed, f"key of {path}:")
    return {name: str(value) for name, value in values.items()}


def read_toml(path: Path) -> dict[str, Any]:
    """The keys and values of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the config {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the config {path} is not TOML: {error}") from None


def to_toml(values: dict[str, Any]) -> str:
    """Settings as TOML, one per line. None is left out, because TOML has no word for it."""
    # A number and a JSON string are written alike in JSON and TOML, except for the delete character.
    given = {name: value for name, value in values.items() if value is not None}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in given.items()]
    return "".join(lines).replace("\x7f", "\\u007f")


def differences(stored: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The settings whose stored value differs from the wanted one, in words. Empty if there are none."""
    return ", ".join(
        f"{name} {stored[name]} instead of {value}"
        for name, value in wanted.items()
        if stored.get(name, value) != value
    )
