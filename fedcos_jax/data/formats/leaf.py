"""LEAF's JSON: files of {"users": [...], "num_samples": [...], "user_data": {user: {"x": [...], "y": [...]}}}.

Files are read one by one. The samples of a user become arrays as soon as the parser has read them, so that the numbers
of a file never exist as Python objects at the same time.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.errors import InputError, require

Encode = Callable[[list, list], tuple[np.ndarray, np.ndarray]]
"""(the x of a user, the y of a user) -> inputs [rows, ...] and labels [rows]. It raises InputError if they are bad."""


class UserRows(NamedTuple):
    """The samples of one user in one file."""

    user: str
    x: np.ndarray
    """Inputs, [rows, ...]."""
    y: np.ndarray
    """Labels, [rows]."""


class Rows(NamedTuple):
    """The samples of all users, joined."""

    x: np.ndarray
    """Inputs, [rows, ...]."""
    y: np.ndarray
    """Labels, [rows]."""
    owner: np.ndarray
    """The user of each row, as an index into the list of names, [rows]."""


def read_users(paths: Sequence[Path], encode: Encode) -> Iterator[UserRows]:
    """The samples of each user of each file. Users without samples are left out.

    Args:
        paths: the files, which are read in this order.
        encode: makes arrays of the samples of a user.
    """
    shape: tuple[int, ...] | None = None
    for path in paths:
        content = _parse(path, encode)
        for place, user in enumerate(_users(path, content)):
            found = content["user_data"].get(user)
            if isinstance(found, InputError):
                raise InputError(f"{path}: the samples of user {user!r} cannot be read: {found}")
            require(isinstance(found, tuple), f"{path}: user_data has no x and y of user {user!r}")
            x, y = found
            _check_count(path, content, place, user, len(y))
            if len(y) == 0:
                continue
            shape = shape or x.shape[1:]
            alike = x.shape[1:] == shape
            require(alike, f"{path}: samples of user {user!r} have shape {x.shape[1:]}, those before have {shape}")
            yield UserRows(user, x, y)


def _parse(path: Path, encode: Encode) -> dict[str, Any]:
    """The content of a file, with a pair of arrays in place of each user's data, or the InputError that it raised."""

    def encode_samples(found: dict[str, Any]) -> Any:
        if not {"x", "y"} <= found.keys():
            return found
        x, y = found["x"], found["y"]
        if not (isinstance(x, list) and isinstance(y, list)):
            return InputError("its x and y must be lists")
        if len(x) != len(y):
            return InputError(f"it has {len(x)} x but {len(y)} y")
        if not x:
            return np.empty(0), np.empty(0)
        try:
            return encode(x, y)
        except InputError as error:
            return error

    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream, object_hook=encode_samples)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); fetch or make it again") from None
    good = isinstance(content, dict) and isinstance(content.get("user_data"), dict)
    require(good, f"{path} is not a file of LEAF: it has no user_data")
    return content


def _users(path: Path, content: dict[str, Any]) -> list[str]:
    users = content.get("users")
    if not (isinstance(users, list) and all(isinstance(user, str) for user in users)):
        raise InputError(f"{path} is not a file of LEAF: its users are no list of names")
    require(len(set(users)) == len(users), f"{path} names a user twice")
    return users


def _check_count(path: Path, content: dict[str, Any], place: int, user: str, found: int) -> None:
    counts = content.get("num_samples")
    if counts is None:
        return
    good = isinstance(counts, list) and len(counts) == len(content["users"])
    require(good, f"{path}: num_samples must be as many numbers as there are users")
    told = counts[place]
    require(told == found, f"{path}: num_samples of user {user!r} is {told}, but there are {found} samples")


def join(found: Sequence[UserRows], names: dict[str, int]) -> Rows:
    """All samples as one array. Users that are not in `names` yet get the next number there.

    Args:
        found: at least one user's samples.
        names: name of a user -> its number.
    """
    owners = [names.setdefault(user, len(names)) for user, _, _ in found]
    counts = [len(y) for _, _, y in found]
    x = np.concatenate([rows.x for rows in found])
    y = np.concatenate([rows.y for rows in found])
    return Rows(x, y, np.repeat(np.asarray(owners, np.int32), counts))
