"""How long a user waits for the compiler: every table of the paper in the paper's shapes, compiled and not run.

`make bench-compile`. Programs kept on disk are not used. Cells of a table that share their shapes share their program,
as they do when the table is run. Inputs are zeros in the shapes of the paper's datasets.
"""

import argparse
import time
from unittest import mock

import jax
import numpy as np

from benchmarks.workload import compile_round, write
from experiments.reproduce import TABLES
from experiments.table import cells
from fedcos_jax.engine import devices
from fedcos_jax.data import DATASETS, Dataset
from fedcos_jax.runs.config import Config, Experiment, prepare
from fedcos_jax.methods import in_paper_form
from fedcos_jax.engine.loop import _compiled_init

LIMIT = 30.0
"""Seconds of compilation that a table may take in all."""


def zeros(name: str) -> Dataset:
    """A dataset of the paper with zeros in it; of the text, roles that are all equally long."""
    entry = DATASETS[name]
    assert entry.rows is not None, f"{name} has no shapes of its own"
    if name == "shakespeare":
        length = sum(entry.rows) // 143 + entry.shape[0]
        return entry.build({"text": np.zeros(143 * length, np.uint8), "offsets": np.arange(144) * length})
    arrays: dict[str, np.ndarray] = {}
    for split, rows in zip(("train", "test"), entry.rows, strict=True):
        # Labels of every class, for the partitions by label.
        arrays |= {f"{split}_x": np.zeros((rows, *entry.shape), np.uint8), f"{split}_y": np.arange(rows) % 10}
    return entry.build(arrays)


def programs(table: str, profile: str) -> dict[str, Experiment]:
    """The cells of a table that differ in their shapes, by what they differ in."""
    found = {cell.config.program: cell.config for cell in cells(TABLES[table], profile)}
    with mock.patch.object(Config, "load", lambda config, *_: zeros(config.dataset)):
        ready = [prepare(config, None, in_paper_form) for config in found.values()]
    return {f"{e.config.model}, {e.schedule.cohort} of {e.config.clients} clients": e for e in ready}


def compile_seconds(table: str, profile: str) -> dict[str, float]:
    """Of all that the table compiles: an initial state for each model and population, and the rounds of each shape."""
    seconds: dict[str, float] = {}
    for name, (config, method, _, data, model, schedule) in programs(table, profile).items():
        initial = f"initial {config.model} of {data.num_clients} clients"
        if initial not in seconds:
            started = time.perf_counter()
            shapes = {"num_clients": data.num_clients, "devices": schedule.shapes(data, model).devices}
            _compiled_init.lower(jax.random.key(0), method, model=model, **shapes).compile()
            seconds[initial] = time.perf_counter() - started
        started = time.perf_counter()
        compile_round(method, data, model, schedule)
        seconds[name] = time.perf_counter() - started
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES), help="default: all")
    parser.add_argument("--profile", default="paper", help="default: paper")
    options = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    devices.use_all_cores()
    measured = {}
    for table in options.tables:
        measured[table] = seconds = compile_seconds(table, options.profile)
        total = sum(seconds.values())
        parts = ", ".join(f"{name} {each:.1f} s" for name, each in seconds.items())
        verdict = "within" if total <= LIMIT else "OVER"
        print(f"{table}: {total:.1f} s to compile, {verdict} the limit of {LIMIT:g} s ({parts})", flush=True)
    if set(measured) == set(TABLES):
        write("compile_time", {"profile": options.profile, "tables": measured})


if __name__ == "__main__":
    main()
