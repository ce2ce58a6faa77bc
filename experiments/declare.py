"""What a table of the paper is: methods down, settings across, and in each cell a run described by a config."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fedcos_jax.errors import require_known
from fedcos_jax.labels import parse
from fedcos_jax.runs.config import Config

RESULTS = Path("results")
PROFILES = ("quick", "short", "paper")


class Setting(NamedTuple):
    """A column of a table."""

    heading: str
    changes: dict[str, Any]
    """The config fields that its cells have of their own, in the paper's terms."""


class Profile(NamedTuple):
    """One way to run a table: on which data, and for how long."""

    config: Config
    """What all cells share."""
    note: str
    """What was chosen, for the readers of the numbers."""
    stand_ins: Mapping[str, str] = MappingProxyType({})
    """The paper's dataset or model -> what takes its place."""
    changes: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Setting -> the config fields that its cells have of their own in this profile only."""


class Table(NamedTuple):
    """A table: methods down, settings across, one or more values of a run in each cell."""

    name: str
    title: str
    methods: tuple[str, ...]
    settings: dict[str, Setting]
    """By the names that the command line and the files use."""
    paper: dict[str, tuple[float, ...]]
    """Method -> the paper's numbers, setting by setting, within a setting in the order of `values`. The paper gives no
    number for some methods of figures."""
    profiles: dict[str, Profile]
    values: tuple[str, ...] = ("last_accuracy",)
    """What the paper gives for a cell, as keys of `result.SUMMARY`. Gains are compared by the first one."""
    beside: tuple[str, ...] = ()
    """Further keys of `result.SUMMARY` that the pages show."""

    @property
    def cross_device(self) -> bool:
        """Whether a round has only some of the clients, so that accuracy swings from round to round."""
        return any("fraction" in setting.changes for setting in self.settings.values())

    def paper_number(self, setting: str, method: str, value: str) -> float | None:
        """The paper's number, or None if the paper does not give it."""
        if value not in self.values or method not in self.paper:
            return None
        column = list(self.settings).index(setting) * len(self.values) + self.values.index(value)
        return self.paper[method][column]

    def config(self, profile: str, setting: str, **changes: Any) -> Config:
        """What a cell runs. `changes` are its method and seed, and the settings of a variant."""
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
    """Settings that differ from the table's."""

    def path(self, folder: Path) -> Path:
        """results/<profile>/<experiment>/<setting>_<method>[_<field>-<value>]_seed<n>.json"""
        name = stem(self.setting, self.config.method, self.variant)
        return folder / self.profile / self.experiment / f"{name}_seed{self.config.seed}.json"


def stem(setting: str, method: str, variant: Mapping[str, Any]) -> str:
    """What the file names of a cell's seeds begin with.

    Example:
        >>> stem("sorted", "FedCos(0.02)", {"epsilon": 1e-4})
        'sorted_fedcos-0.02_epsilon-0.0001'
    """
    return "_".join([setting, slug(method), *(f"{name}-{value}" for name, value in sorted(variant.items()))])


def slug(method: str) -> str:
    """A label as a part of a file name.

    Example:
        >>> slug("FedOpt(1.5)+FedCos(0.02)"), slug("FedAdam(0.01,b2=0.999)")
        ('fedopt-1.5_fedcos-0.02', 'fedadam-0.01-b2=0.999')
    """
    return re.sub(r"\(([^)]*)\)", r"-\1", method.lower()).replace(",", "-").replace("+", "_")


def select(
    tables: Sequence[Table], methods: Sequence[str] = (), settings: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """The chosen methods, spelled as in the tables, and settings. Each must be in at least one of the tables."""
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
    """The cells of a table, in order of their seeds.

    Args:
        table: whose cells.
        profile: one of PROFILES.
        methods: rows to take. Empty for all.
        settings: columns to take. Empty for all.
        seeds: runs per cell, with the seeds from 0 on.
        variant: config fields that differ from the table's.
    """
    require_known(profile, table.profiles, "profile")
    for seed in range(seeds):
        for setting in [name for name in table.settings if name in settings or not settings]:
            for method in [label for label in table.methods if label in methods or not methods]:
                changes = {"method": method, "seed": seed} | (variant or {})
                yield Cell(table.name, profile, setting, table.config(profile, setting, **changes), variant or {})
