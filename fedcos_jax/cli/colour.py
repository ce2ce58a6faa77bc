"""Colour where a terminal shows it, and plain text elsewhere."""

import os
from typing import TextIO


def red(text: str, stream: TextIO) -> str:
    """The text in red."""
    return _styled(text, 31, stream)


def bold(text: str, stream: TextIO) -> str:
    """The text in bold."""
    return _styled(text, 1, stream)


def _styled(text: str, code: int, stream: TextIO) -> str:
    # https://no-color.org
    wanted = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{text}\x1b[0m" if wanted else text
