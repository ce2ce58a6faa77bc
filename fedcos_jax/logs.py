"""The log of a run, written as the run goes on: a CSV file, and TensorBoard's event files where they are wanted."""

import csv
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fedcos_jax import results, settings
from fedcos_jax.errors import InputError, require
from fedcos_jax.experiment import EVALUATED, Config, Watcher, history_lists
from fedcos_jax.simulate import History
from fedcos_jax.telemetry import RoundInfo

CSV_FILE, CONFIG_FILE = "history.csv", "config.toml"
OF_THE_DATA = ("data_dir", "source")
"""In the stored config besides the run's own."""
COLUMNS = ("round", *EVALUATED, *RoundInfo._fields)
_INSTALL = "pip install tensorboardX"


@contextmanager
def open_log(folder: Path, config: str, tensorboard: bool | None = None, *, anew: bool = False) -> Iterator[Watcher]:
    """Yields the watcher for `experiment.execute`; every call leaves whole rows on the disk.

    Args:
        folder: made if it is missing; it must not hold the log of another run.
        config: of the run, as TOML, stored beside the history.
        tensorboard: whether to write event files too, which takes tensorboardX; None for wherever it is installed.
        anew: whether to write the log of a run that goes on once more, from its start.
    """
    installed = importlib.util.find_spec("tensorboardX") is not None
    require(installed or not tensorboard, f"--tensorboard needs tensorboardX, which is not installed: {_INSTALL}")
    require(anew or not (folder / CSV_FILE).exists(), f"{folder} holds the log of a run already: choose another folder")
    if not installed and tensorboard is None:
        print(f"fedcos: {CSV_FILE} only; for TensorBoard's event files {_INSTALL}", file=sys.stderr)
    results.write_text(folder / CONFIG_FILE, config)
    with ExitStack() as stack:
        writers = [stack.enter_context(_csv_log(folder / CSV_FILE))]
        if installed and tensorboard is not False:
            writers.append(stack.enter_context(_event_log(folder, anew)))

        def watch(history: History) -> None:
            rows = list(rows_of(history))
            for write in writers:
                write(rows)

        yield watch


def is_log_of(folder: Path, config: Config) -> bool:
    """Whether the folder holds the log of this run, perhaps with fewer rounds."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        return False
    fields = settings.declared(Config)
    texts = settings.read_file(path, (*fields, *OF_THE_DATA))
    logged = Config(**settings.from_text(Config, {name: text for name, text in texts.items() if name in fields}))
    return logged.identity == config.identity


def rows_of(history: History) -> Iterator[dict[str, Any]]:
    """The history a round at a time; accuracy and test loss are None where there was no evaluation."""
    columns = history_lists(history)
    evaluations = {r: i for i, r in enumerate(columns["round"])}
    count = len(history.rounds.train_loss)
    for i, round in enumerate(range(columns["round"][-1] - count + 1, columns["round"][-1] + 1)):
        at = evaluations.get(round)
        evaluated = {name: None if at is None else columns[name][at] for name in EVALUATED}
        yield {"round": round, **evaluated, **{name: columns[name][i] for name in RoundInfo._fields}}


@contextmanager
def _csv_log(path: Path):
    try:
        stream = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    with stream:
        table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        table.writeheader()

        def write(rows: list[dict[str, Any]]) -> None:
            table.writerows(rows)
            stream.flush()

        yield write


@contextmanager
def _event_log(folder: Path, anew: bool):
    from tensorboardX import SummaryWriter

    # TensorBoard then forgets what earlier files have.
    with SummaryWriter(str(folder), purge_step=0 if anew else None) as events:

        def write(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                for name in COLUMNS[1:]:
                    if row[name] is not None:
                        events.add_scalar(name, row[name], row["round"])
            events.flush()

        yield write
