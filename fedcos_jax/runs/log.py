"""The log of a run, written while it runs: files in a folder, and other places that keep runs."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fedcos_jax.engine.callbacks import Callback, Report
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.errors import is_installed, require, require_package
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.logs.tables import Writer, csv_file, json_lines
from fedcos_jax.runs.logs.tensorboard import event_file
from fedcos_jax.runs.result import numbers

CSV_FILE, JSON_FILE, CONFIG_FILE = "history.csv", "history.jsonl", "config.toml"
BESIDE = ("data_dir", "source", "import")
"""The keys that the stored config has besides the fields of `Config`."""
EVALUATED = ("accuracy", "test_loss")
"""The columns of a classifier's evaluations."""


@contextmanager
def log_to(*targets: AbstractContextManager[Writer], evaluated: Sequence[str] = EVALUATED) -> Iterator[Callback]:
    """Yields the callback that writes the rounds of each report to all targets.

    Args:
        targets: where to write.
        evaluated: the columns of an evaluation, from `column_names`.
    """
    with ExitStack() as stack:
        writers = [stack.enter_context(target) for target in targets]

        def write(report: Report) -> None:
            rows = rows_of(report, evaluated)
            for writer in writers:
                writer(rows)

        yield write


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
    if tensorboard:
        require_package("tensorboardX", "--tensorboard")
    require(anew or not (folder / CSV_FILE).exists(), f"{folder} holds the log of a run already: choose another folder")
    files.write_text(folder / CONFIG_FILE, config)
    targets = [csv_file(folder / CSV_FILE, ("round", *evaluated, *RoundInfo._fields)), json_lines(folder / JSON_FILE)]
    if is_installed("tensorboardX") and tensorboard is not False:
        targets.append(event_file(folder, anew=anew))
    with log_to(*targets, evaluated=evaluated) as write:
        yield write


def is_log_of(folder: Path, config: Config) -> bool:
    """Whether the folder holds the log of this run, perhaps with fewer rounds."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        return False
    fields = settings.declared(Config)
    texts = settings.read_file(path, (*fields, *BESIDE))
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
