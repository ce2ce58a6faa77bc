"""The results of cells on disk: one JSON file per run."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from experiments.declare import Cell, Table, stem
from fedcos_jax.errors import require
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config

Result = dict[str, Any]
AS_DECLARED: Mapping[str, Any] = MappingProxyType({})
"""The variant of a table's own cells."""


def store(cell: Cell, folder: Path, result: Result) -> None:
    """Writes the result of a cell to its file."""
    about = {"experiment": cell.experiment, "profile": cell.profile, "variant": cell.variant}
    files.write(cell.path(folder), about | result)


def is_stored(cell: Cell, folder: Path) -> bool:
    """Whether the cell has a result. Raises InputError if its file holds the result of another config."""
    path = cell.path(folder)
    if not path.exists():
        return False
    # A setting that is newer than the result had its default value when the result was made.
    had = Config().results | files.read(path)["config"]
    differing = settings.differences(had, cell.config.results)
    require(not differing, f"{path} was run with {differing}: move it away, or run it --again")
    return True


def stored(
    table: Table, profile: str, folder: Path, setting: str, method: str, variant: Mapping[str, Any] = AS_DECLARED
) -> list[Result]:
    """The results of a cell on disk, one per seed. `variant` has the settings that differ from the table's."""
    paths = (folder / profile / table.name).glob(f"{stem(setting, method, variant)}_seed*.json")
    return sorted(map(files.read, paths), key=lambda result: result["seed"])


def stored_variants(table: Table, profile: str, folder: Path) -> list[tuple[str, Result]]:
    """The results of variants on disk, each with its setting."""
    found = [
        (setting, files.read(path))
        for setting in table.settings
        for path in sorted((folder / profile / table.name).glob(f"{setting}_*.json"))
    ]
    return [(setting, result) for setting, result in found if result["variant"]]
