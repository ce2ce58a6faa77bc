"""What a table of the paper is, and how its cells run."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fedcos_jax import results
from fedcos_jax.errors import require_known
from fedcos_jax.experiment import Config, execute, prepare
from fedcos_jax.methods import in_paper_form, parse
from fedcos_jax.progress import progress_bar

RESULTS = Path("results")


class Table(NamedTuple):
    """A table: methods down, settings across, accuracy in the cells."""

    name: str
    title: str
    methods: tuple[str, ...]
    settings: dict[str, str]
    """Heading in the paper -> partition."""
    paper: dict[str, tuple[float, ...]]
    """Method -> the paper's accuracy for each setting."""
    profiles: dict[str, Config]
    """Profile -> what its cells have in common."""
    notes: dict[str, str]
    """Profile -> what to know when reading its numbers."""


class Cell(NamedTuple):
    """One run of a table."""

    experiment: str
    profile: str
    config: Config
    variant: dict[str, Any]
    """Settings that differ from the table's own."""

    def path(self, folder: Path) -> Path:
        """results/<profile>/<experiment>/<partition>_<method>[_<setting>-<value>]_seed<n>.json"""
        parts = [self.config.partition, slug(self.config.method)]
        parts += [f"{name}-{value}" for name, value in sorted(self.variant.items())]
        name = "_".join([*parts, f"seed{self.config.seed}"])
        return folder / self.profile / self.experiment / f"{name}.json"


def slug(method: str) -> str:
    """FedOpt(1.5)+FedCos(0.02) -> fedopt-1.5_fedcos-0.02"""
    return re.sub(r"\(([^)]*)\)", r"-\1", method.lower()).replace("+", "_")


def cells(
    table: Table,
    profile: str,
    *,
    methods: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    seeds: int = 1,
    variant: dict[str, Any] | None = None,
) -> Iterator[Cell]:
    """The cells of a table, all or those of the named methods and settings (partitions), first seeds first."""
    require_known(profile, table.profiles, "profile")
    chosen_methods = [parse(method).label for method in methods] or table.methods
    for method in chosen_methods:
        require_known(method, table.methods, f"method of {table.name}")
    for setting in settings:
        require_known(setting, table.settings.values(), f"setting of {table.name}")
    for seed in range(seeds):
        for partition in settings or table.settings.values():
            for method in chosen_methods:
                config = dataclasses.replace(
                    table.profiles[profile], partition=partition, method=method, seed=seed, **(variant or {})
                )
                yield Cell(table.name, profile, config, variant or {})


def run_cell(cell: Cell, folder: Path, data_dir: str | None, *, again: bool, show_progress: bool) -> dict[str, Any]:
    """The result of a cell: the one on disk, or a new one, stored."""
    path = cell.path(folder)
    if path.exists() and not again:
        return results.read(path)
    label = f"{cell.experiment} {cell.config.partition} {cell.config.method} seed {cell.config.seed}"
    experiment = prepare(cell.config, data_dir, in_paper_form)
    with progress_bar(label, cell.config.rounds, shown=show_progress) as progress:
        result = execute(experiment, progress)
    result = {"experiment": cell.experiment, "profile": cell.profile, "variant": cell.variant, **result}
    results.write(path, result)
    return result
