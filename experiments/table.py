"""What a table of the paper is, and how its cells run."""

import dataclasses
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jax

from fedcos_jax.runs import files
from fedcos_jax.runs import settings
from fedcos_jax.runs.checkpoint import Checkpoints
from fedcos_jax.errors import require, require_known
from fedcos_jax.runs.config import SAME_NUMBERS, Config, as_result, execute, prepare, run_together
from fedcos_jax.methods import in_paper_form, parse
from fedcos_jax.cli.progress import progress_bar, runs_bar

RESULTS = Path("results")
PROFILES = ("quick", "short", "paper")
VALUES = {
    "last_accuracy": "last round",
    "best_accuracy": "best round",
    "last10_accuracy": "mean of the last ten rounds",
}
"""What a table can show of a result: its key -> words."""

Result = dict[str, Any]


class Setting(NamedTuple):
    """A column of a table."""

    heading: str
    changes: dict[str, Any]
    """The Config fields that its cells have of their own, in the paper's terms."""


class Profile(NamedTuple):
    """One way to run a table: on what, and for how long."""

    config: Config
    """What its cells have in common."""
    note: str
    """What was chosen and why, for the readers of its numbers."""
    stand_ins: Mapping[str, str] = MappingProxyType({})
    """The paper's dataset or model -> what takes its place."""
    changes: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Setting -> the Config fields that its cells have of their own in this profile only."""


class Table(NamedTuple):
    """A table: methods down, settings across, one or more values of a run in the cells."""

    name: str
    title: str
    methods: tuple[str, ...]
    settings: dict[str, Setting]
    """By the names that the command line and the files use."""
    paper: dict[str, tuple[float, ...]]
    """Method -> the paper's numbers, setting by setting, within a setting in the order of `values`; not every method
    of a figure has any."""
    profiles: dict[str, Profile]
    values: tuple[str, ...] = ("last_accuracy",)
    """What the paper gives of a cell, keys of VALUES; the first one counts."""
    beside: tuple[str, ...] = ()
    """What is shown beside it."""

    @property
    def cross_device(self) -> bool:
        """Whether only some of the clients take part in a round, so that accuracy swings from round to round."""
        return any("fraction" in setting.changes for setting in self.settings.values())

    def paper_number(self, setting: str, method: str, value: str) -> float | None:
        """The paper's number; None where it does not give it."""
        if value not in self.values or method not in self.paper:
            return None
        column = list(self.settings).index(setting) * len(self.values) + self.values.index(value)
        return self.paper[method][column]

    def config(self, profile: str, setting: str, **changes: Any) -> Config:
        """What a cell runs; `changes` are its method and seed, and what a variant has of its own."""
        common, _, stand_ins, own = self.profiles[profile]
        paper = dataclasses.replace(common, **self.settings[setting].changes, **own.get(setting, {}))
        names = {
            field: stand_ins.get(name, name) for field, name in (("dataset", paper.dataset), ("model", paper.model))
        }
        return dataclasses.replace(paper, **names | changes)


class Cell(NamedTuple):
    """One run of a table."""

    experiment: str
    profile: str
    setting: str
    config: Config
    variant: dict[str, Any]
    """Settings that differ from the table's own."""

    def path(self, folder: Path) -> Path:
        """results/<profile>/<experiment>/<setting>_<method>[_<field>-<value>]_seed<n>.json"""
        parts = [self.setting, slug(self.config.method)]
        parts += [f"{name}-{value}" for name, value in sorted(self.variant.items())]
        name = "_".join([*parts, f"seed{self.config.seed}"])
        return folder / self.profile / self.experiment / f"{name}.json"


def slug(method: str) -> str:
    """FedOpt(1.5)+FedCos(0.02) -> fedopt-1.5_fedcos-0.02"""
    return re.sub(r"\(([^)]*)\)", r"-\1", method.lower()).replace("+", "_")


def select(
    tables: Sequence[Table], methods: Sequence[str] = (), settings: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """The chosen methods, spelled as in the tables, and settings; each must be in one of the tables at least."""
    labels = [parse(method).label for method in methods]
    names = ", ".join(table.name for table in tables)
    for label in labels:
        require_known(label, dict.fromkeys(m for table in tables for m in table.methods), f"method of {names}")
    for setting in settings:
        require_known(setting, dict.fromkeys(s for table in tables for s in table.settings), f"setting of {names}")
    return labels, list(settings)


def cells(
    table: Table,
    profile: str,
    *,
    methods: Sequence[str] = (),
    settings: Sequence[str] = (),
    seeds: int = 1,
    variant: dict[str, Any] | None = None,
) -> Iterator[Cell]:
    """The cells of a table, all or those of the methods and settings named, first seeds first."""
    require_known(profile, table.profiles, "profile")
    for seed in range(seeds):
        for setting in [name for name in table.settings if name in settings or not settings]:
            for method in [label for label in table.methods if label in methods or not methods]:
                changes = {"method": method, "seed": seed} | (variant or {})
                yield Cell(table.name, profile, setting, table.config(profile, setting, **changes), variant or {})


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    data_dir: str | None,
    *,
    again: bool = False,
    show_progress: bool = True,
    at_once: int | None = None,
) -> None:
    """Runs the cells that have no result on disk, and stores each as it is done.

    On a CPU one runs after the other, kept in checkpoints. On accelerators all that share their shapes, rows, settings
    and seeds, are one sweep; so they are elsewhere if `at_once` says how many a device takes in one `vmap`.
    """
    to_run = []
    for cell in cells:
        path = cell.path(folder)
        if path.exists() and not again:
            _check(cell, path)
        else:
            to_run.append(cell)
    if at_once is None and jax.default_backend() == "cpu":
        for cell in to_run:
            _run_alone(cell, folder, data_dir, show_progress)
    else:
        programs: dict[tuple, list[Cell]] = {}
        for cell in to_run:
            programs.setdefault(cell.config.program, []).append(cell)
        for together in programs.values():
            _run_together(together, folder, data_dir, at_once, show_progress)


def _run_alone(cell: Cell, folder: Path, data_dir: str | None, show_progress: bool) -> None:
    label = f"{cell.experiment} {cell.setting} {cell.config.method} seed {cell.config.seed}"
    experiment = prepare(cell.config, data_dir, in_paper_form)
    checkpoint = cell.path(folder).with_suffix(".checkpoint")
    checkpoints = Checkpoints(checkpoint, experiment.config.identity, keep_end=False)
    with progress_bar(label, cell.config.rounds, shown=show_progress) as progress:
        result = execute(experiment, progress, checkpoints=checkpoints)
    _store(cell, folder, result)
    shutil.rmtree(checkpoint, ignore_errors=True)


def _run_together(
    cells: Sequence[Cell], folder: Path, data_dir: str | None, at_once: int | None, show_progress: bool
) -> None:
    """Cells of one program; their time is a share of their block's."""
    configs = [cell.config for cell in cells]
    waiting, started = iter(cells), time.perf_counter()
    with runs_bar(cells[0].experiment, len(cells), shown=show_progress) as bar:
        for histories in run_together(configs, configs[0].load(data_dir), in_paper_form, at_once):
            seconds = (time.perf_counter() - started) / len(histories)
            for history, cell in zip(histories, waiting, strict=False):
                _store(cell, folder, as_result(cell.config, history, seconds))
            bar.update(len(histories))
            started = time.perf_counter()


def _store(cell: Cell, folder: Path, result: Result) -> None:
    about = {"experiment": cell.experiment, "profile": cell.profile, "variant": cell.variant}
    files.write(cell.path(folder), about | result)


def _check(cell: Cell, path: Path) -> None:
    """A stored result must be of this very run."""
    wanted = {name: value for name, value in dataclasses.asdict(cell.config).items() if name not in SAME_NUMBERS}
    # A setting that came after the result was at its default then.
    had = dataclasses.asdict(Config()) | files.read(path)["config"]
    differing = settings.differences(had, wanted)
    require(not differing, f"{path} was run with {differing}: move it away, or run it --again")


def stored(table: Table, profile: str, folder: Path, setting: str, method: str) -> list[Result]:
    """The results that a cell has on disk, one a seed."""
    paths = (folder / profile / table.name).glob(f"{setting}_{slug(method)}_seed*.json")
    return sorted(map(files.read, paths), key=lambda result: result["seed"])


def stored_variants(table: Table, profile: str, folder: Path) -> list[tuple[str, Result]]:
    """The results of variants on disk, each with its setting."""
    found = [
        (setting, files.read(path))
        for setting in table.settings
        for path in sorted((folder / profile / table.name).glob(f"{setting}_*.json"))
    ]
    return [(setting, result) for setting, result in found if result["variant"]]
