"""The one exception that a user's mistake raises. The command line answers it with one line."""

import difflib
import importlib.util
import math
from collections.abc import Iterable


class InputError(ValueError):
    """The user gave something that cannot be used. The message says what was wrong and what is allowed."""


def require(condition: bool, message: str) -> None:
    """Raises InputError with the message unless the condition holds."""
    if not condition:
        raise InputError(message)


def require_known(name: str, allowed: Iterable[str], kind: str) -> None:
    """Raises InputError unless the name is one of those allowed. The message suggests the nearest one."""
    allowed = list(allowed)
    if name not in allowed:
        raise InputError(f"unknown {kind} {name!r}{did_you_mean(name, allowed)} (one of: {', '.join(allowed)})")


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """A suggestion to put after a name that is not allowed. It is empty if no allowed name is near."""
    # The dashes of a flag say nothing about how near it is.
    words = {word.lstrip("-"): word for word in allowed}
    close = difflib.get_close_matches(name.lstrip("-"), words, n=1)
    return f"; did you mean {words[close[0]]!r}?" if close else ""


def is_installed(package: str) -> bool:
    """Whether a package that is not always needed can be imported."""
    return importlib.util.find_spec(package) is not None


def require_package(package: str, what: str, *, install: str | None = None) -> None:
    """Raises InputError if a package is missing that something needs. The message says what to install."""
    missing = f"{what} needs {package}, which is not installed: pip install {install or package}"
    require(is_installed(package), missing)


def require_at_least(minimum: float, **values: object) -> None:
    """Raises InputError for the first named number that is not finite or is below the minimum.

    Only plain Python numbers are checked. An array may be a tracer, whose value is not known yet.
    """
    for name, value in values.items():
        if isinstance(value, int | float) and not minimum <= value < math.inf:
            raise InputError(f"{name} must be at least {minimum:g}, got {value:g}")
