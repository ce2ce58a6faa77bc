"""How long a user waits for the compiler: every table of the paper in the paper's shapes, compiled and not run.

`make bench-compile`. Programs that are kept on disk are not used. Cells of a table that share their shapes share their
program, as they do when the table is run. Inputs are zeros in the shapes of the paper's datasets.
"""

import argparse
import time
from unittest import mock

import jax
import numpy as np

from benchmarks.workload import compile_round, verdict, write
from experiments.declare import cells
from experiments.reproduce import TABLES
from fedcos_jax import Dataset, Experiment, devices
from fedcos_jax.data import DATASETS
from fedcos_jax.engine import loop
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.prepare import Prepared, prepare

LIMIT = 30.0
"""Seconds of compilation that a table may take in all."""


def zeros(name: str) -> Dataset:
    """A dataset of the paper with zeros in it. The roles of the text are all equally long."""
    entry = DATASETS[name]
    assert entry.rows is not None, f"{name} has no shapes of its own"
    if name == "shakespeare":
        length = sum(entry.rows) // 143 + entry.shape[0]
        return entry.build({"text": np.zeros(143 * length, np.uint8), "offsets": np.arange(144) * length})
    arrays: dict[str, np.ndarray] = {}
    for split, rows in zip(("train", "test"), entry.rows, strict=True):
        # Partitions by label need rows of every class.
        arrays |= {f"{split}_x": np.zeros((rows, *entry.shape), np.uint8), f"{split}_y": np.arange(rows) % 10}
    return entry.build(arrays)


def programs(table: str, profile: str) -> dict[str, Prepared]:
    """The cells of a table that differ in their shapes, by what they differ in."""
    found = {cell.config.program: cell.config for cell in cells(TABLES[table], profile)}
    with mock.patch.object(Config, "load", lambda config, *_: zeros(config.dataset)):
        ready = [prepare(config, in_paper_form=True) for config in found.values()]
    return {f"{p.config.model}, {p.experiment.schedule.cohort} of {p.config.clients} clients": p for p in ready}


def compile_initial(experiment: Experiment) -> float:
    """Seconds to compile the program of the initial state."""
    arguments = experiment.federation.shapes.placement.replicate((jax.random.key(0), experiment.federation))
    started = time.perf_counter()
    loop._compiled_init.lower(*arguments).compile()
    return time.perf_counter() - started


def compile_seconds(table: str, profile: str) -> dict[str, float]:
    """Seconds of each program of a table: an initial state per model and population, and the rounds of each shape."""
    seconds: dict[str, float] = {}
    for name, (config, experiment) in programs(table, profile).items():
        initial = f"initial {config.model} of {config.clients} clients"
        if initial not in seconds:
            seconds[initial] = compile_initial(experiment)
        started = time.perf_counter()
        compile_round(experiment)
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
        kept = verdict(total, LIMIT)
        print(f"{table}: {total:.1f} s to compile, {kept} the limit of {LIMIT:g} s ({parts})", flush=True)
    if set(measured) == set(TABLES):
        write("compile_time", {"profile": options.profile, "tables": measured})


if __name__ == "__main__":
    main()
