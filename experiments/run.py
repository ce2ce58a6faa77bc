"""Running the cells of tables: each alone, or many of them together as few compiled programs."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import jax

from experiments.declare import Cell
from experiments.store import is_stored, store
from fedcos_jax.engine.progress import progress_bar, runs_bar
from fedcos_jax.runs.checkpoint import Checkpoints
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.prepare import prepare
from fedcos_jax.runs.result import as_result
from fedcos_jax.runs.together import run_together


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    data_dir: str | None,
    *,
    again: bool = False,
    show_progress: bool = True,
    at_once: int | None = None,
) -> None:
    """Runs the cells that have no result on disk, and stores each result as soon as it is there.

    On a CPU each cell runs alone, on all cores, and keeps checkpoints. On an accelerator cells run together.

    Args:
        cells: what to run.
        folder: of the results.
        data_dir: of the datasets. None for FEDCOS_DATA_DIR.
        again: run cells again that have a result.
        show_progress: whether to show progress bars.
        at_once: cells in one `vmap` on a device. If it is given, cells run together on a CPU too.
    """
    waiting = [cell for cell in cells if again or not is_stored(cell, folder)]
    if at_once is None and jax.default_backend() == "cpu":
        for cell in waiting:
            _run_alone(cell, folder, data_dir, show_progress)
        return
    datasets: dict[tuple[str, bool], list[Cell]] = {}
    for cell in waiting:
        datasets.setdefault((cell.config.dataset, cell.config.augment), []).append(cell)
    for together in datasets.values():
        _run_together(together, folder, data_dir, at_once, show_progress)


def _run_alone(cell: Cell, folder: Path, data_dir: str | None, show_progress: bool) -> None:
    label = f"{cell.experiment} {cell.setting} {cell.config.method} seed {cell.config.seed}"
    prepared = prepare(cell.config, data_dir, in_paper_form=True)
    checkpoint = cell.path(folder).with_suffix(".checkpoint")
    checkpoints = Checkpoints(checkpoint, prepared.config.identity, keep_end=False)
    with progress_bar(label, cell.config.rounds, shown=show_progress) as advance:
        result = execute(prepared, [advance], checkpoints)
    store(cell, folder, result)
    shutil.rmtree(checkpoint, ignore_errors=True)


def _run_together(
    cells: Sequence[Cell], folder: Path, data_dir: str | None, at_once: int | None, show_progress: bool
) -> None:
    """Cells on one dataset. Cells with equal configs share a run."""
    waiting: dict[Config, list[Cell]] = {}
    for cell in cells:
        waiting.setdefault(cell.config, []).append(cell)
    with runs_bar(cells[0].experiment, len(waiting), shown=show_progress) as bar:
        for batch in run_together(list(waiting), lambda config: config.load(data_dir), at_once):
            for config, history, seconds, watch in batch:
                for cell in waiting[config]:
                    store(cell, folder, as_result(config, history, seconds, watch))
            bar.update(len(batch))
