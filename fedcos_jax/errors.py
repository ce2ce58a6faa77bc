"""The one exception that a user's mistake raises. The command line answers it with one line."""

import difflib
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
    close = difflib.get_close_matches(name, list(allowed), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def require_at_least(minimum: float, **values: object) -> None:
    """Raises InputError for the first named number that is not finite or is below the minimum.

    Only plain Python numbers are checked. An array may be a tracer, whose value is not known yet.
    """
    for name, value in values.items():
        if isinstance(value, int | float) and not minimum <= value < math.inf:
            raise InputError(f"{name} must be at least {minimum:g}, got {value:g}")
