"""The log as files with one line per round: CSV, and JSON Lines for pandas and jq."""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fedcos_jax.errors import InputError

Rows = Sequence[dict[str, Any]]
Writer = Callable[[Rows], None]


@contextmanager
def csv_file(path: Path, columns: Sequence[str]) -> Iterator[Writer]:
    """A table with a header. What is None is empty."""
    with _opened(path) as stream:
        table = csv.DictWriter(stream, columns, lineterminator="\n")
        table.writeheader()

        def write(rows: Rows) -> None:
            table.writerows(rows)
            stream.flush()

        yield write


@contextmanager
def json_lines(path: Path) -> Iterator[Writer]:
    """One object per line, all with the same keys, as `pandas.read_json(path, lines=True)` reads it."""
    with _opened(path) as stream:

        def write(rows: Rows) -> None:
            stream.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
            stream.flush()

        yield write


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
