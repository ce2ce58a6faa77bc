"""The axes of `fedcos sweep --grid NAME=A,B,C`, and the config at each point of the grid."""

import dataclasses
from collections.abc import Collection
from typing import Any

from fedcos_jax.cli import flags
from fedcos_jax.errors import InputError, did_you_mean, require, require_at_least
from fedcos_jax.labels import FLAGS, parse, split_labels
from fedcos_jax.runs import settings
from fedcos_jax.runs.config import Config

Point = dict[str, Any]


def swept() -> tuple[str, ...]:
    """What the points of a grid may differ in: every setting that results depend on, and flags of imported methods."""
    names = settings.of_kind(Config, "number", "shape")
    return (*(name for name in names if name != "start_checksum"), *FLAGS)


def read_axes(texts: list[str]) -> dict[str, list]:
    """The axes of --grid NAME=A,B,C, by name."""
    axes: dict[str, list] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().replace("-", "_")
        shared = name.startswith("start_")
        require(not shared, f"{name} cannot be swept: give it by {flags.flag('start_from')}, for all points")
        require(name not in settings.of_kind(Config, "machine"), f"{name} cannot be swept: results do not depend on it")
        if name not in swept():
            raise InputError(f"unknown axis {name!r} of the grid{did_you_mean(name, swept())}: {', '.join(swept())}")
        require(bool(values.strip()), f"--grid {name} needs values: {name}=A,B,...")
        require(name not in axes, f"the axis {name} is given twice")
        axes[name] = [_read(name, value) for value in split_labels(values)]
        same = [parse(value).label for value in axes[name]] if name == "method" else axes[name]
        twice = [str(value) for i, value in enumerate(same) if value in same[:i]]
        require(not twice, f"--grid {name} has {', '.join(twice)} more than once")
    steps = [value for value in axes.get("local_epochs", []) if value is not None]
    require(not (steps and "local_steps" in axes), "give the axis local_steps or the axis local_epochs, not both")
    return axes


def _read(name: str, value: str) -> Any:
    if name in FLAGS:
        return settings.read(value, float, name)
    return settings.from_text(Config, {name: value})[name]


def seed_axis(axes: Collection[str], seeds: int | None, first: int) -> dict[str, list]:
    """The seeds of --seeds as an axis. Empty if --grid already has seeds."""
    if seeds is None:
        return {} if "seed" in axes else {"seed": [first]}
    require_at_least(1, seeds=seeds)
    require("seed" not in axes, "give --seeds or --grid seed=..., not both")
    return {"seed": list(range(first, first + seeds))}


def at_point(config: Config, point: Point) -> Config:
    """The config of a point."""
    fields = {name: value for name, value in point.items() if name not in FLAGS}
    numbers = {name: value for name, value in point.items() if name in FLAGS}
    flags.refuse_twice(point.get("method", ""), numbers, "--grid {}".format)
    config = dataclasses.replace(config, **fields)
    return dataclasses.replace(config, method=flags.with_numbers(config.spec, numbers).label)
