"""The log of a run, written while it runs: a CSV file, and TensorBoard's event files if they are wanted."""

import csv
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fedcos_jax.engine.loop import Callback, Report
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.errors import InputError, require
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import numbers

CSV_FILE, CONFIG_FILE = "history.csv", "config.toml"
OF_THE_DATA = ("data_dir", "source")
"""The keys that the stored config has besides the fields of `Config`."""
EVALUATED = ("accuracy", "test_loss")
"""The columns of a classifier's evaluations."""
INSTALL_TENSORBOARD = "pip install tensorboardX"


def has_tensorboard() -> bool:
    """Whether event files can be written."""
    return importlib.util.find_spec("tensorboardX") is not None


@contextmanager
def open_log(
    folder: Path,
    config: str,
    tensorboard: bool | None = None,
    *,
    anew: bool = False,
    evaluated: Sequence[str] = EVALUATED,
) -> Iterator[Callback]:
    """Yields the callback that writes the log. Every call leaves whole rows on the disk.

    Args:
        folder: made if it is missing. It must not hold the log of another run.
        config: the config of the run as TOML, which is stored beside the history.
        tensorboard: whether to write event files too, which needs tensorboardX. None to do so if it is installed.
        anew: whether to write the log of a resumed run again from its start.
        evaluated: the columns of an evaluation, from `column_names`.
    """
    installed = has_tensorboard()
    require(
        installed or not tensorboard, f"--tensorboard needs tensorboardX, which is not installed: {INSTALL_TENSORBOARD}"
    )
    require(anew or not (folder / CSV_FILE).exists(), f"{folder} holds the log of a run already: choose another folder")
    files.write_text(folder / CONFIG_FILE, config)
    with ExitStack() as stack:
        writers = [stack.enter_context(_csv_log(folder / CSV_FILE, ("round", *evaluated, *RoundInfo._fields)))]
        if installed and tensorboard is not False:
            writers.append(stack.enter_context(_event_log(folder, anew)))

        def write(report: Report) -> None:
            rows = rows_of(report, evaluated)
            for writer in writers:
                writer(rows)

        yield write


def is_log_of(folder: Path, config: Config) -> bool:
    """Whether the folder holds the log of this run, perhaps with fewer rounds."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        return False
    fields = settings.declared(Config)
    texts = settings.read_file(path, (*fields, *OF_THE_DATA))
    logged = Config(**settings.from_text(Config, {name: text for name, text in texts.items() if name in fields}))
    return logged.identity == config.identity


def rows_of(report: Report, evaluated: Sequence[str] = EVALUATED) -> list[dict[str, Any]]:
    """The rounds of a report, one row each. The columns `evaluated` are None where there was no evaluation."""
    columns = {name: numbers(column) for name, column in report.rounds._asdict().items()}
    first = report.completed - len(columns["train_loss"]) + 1
    rows: list[dict[str, Any]] = [
        {"round": first + i, **dict.fromkeys(evaluated), **{name: column[i] for name, column in columns.items()}}
        for i in range(len(columns["train_loss"]))
    ]
    if rows and report.evaluation is not None:
        values = report.evaluation.columns()
        rows[-1] |= {name: numbers(np.asarray(value)[None])[0] for name, value in values.items()}
    return rows


@contextmanager
def _csv_log(path: Path, columns: Sequence[str]):
    try:
        stream = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    with stream:
        table = csv.DictWriter(stream, columns, lineterminator="\n")
        table.writeheader()

        def write(rows: list[dict[str, Any]]) -> None:
            table.writerows(rows)
            stream.flush()

        yield write


@contextmanager
def _event_log(folder: Path, anew: bool):
    from tensorboardX import SummaryWriter

    # With purge_step=0, TensorBoard ignores the values in earlier files.
    with SummaryWriter(str(folder), purge_step=0 if anew else None) as events:

        def write(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                for name, value in row.items():
                    if name != "round" and value is not None:
                        events.add_scalar(name, value, row["round"])
            events.flush()

        yield write
