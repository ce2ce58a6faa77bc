"""From 10 to 10,000 clients per round out of 100,000: time per client-step, memory, and what unequal clients waste.

`make bench-scaling`. The paper's MLP on random images. Each memory is measured in a process of its own.
"""

import argparse
import functools
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks import plots
from benchmarks.scenes import MLP, mlp
from benchmarks.waste import WASTE, power_law_sizes, waste
from benchmarks.workload import compile_round, experiment, read, rounds, take_turns, verdict, write
from fedcos_jax import FederatedData, Model, devices, fedcos, federate
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine.compilation import keep_compiled_programs, program_memory
from fedcos_jax.engine.sampling import steps_per_epoch
from fedcos_jax.models import num_parameters

POPULATION, COHORTS, BATCH = 100_000, (10, 100, 1_000, 10_000), 10
LOCAL_STEPS = 5, 20
POPULATIONS, MEMORY_COHORT, MEMORY_ROWS = (1_000, 10_000, 100_000), 100, 100_000
UNEQUAL, CHUNKS, DEVICES = 1_000, (1, 16, 256), (1, 2, 8)
FLAT = 1.2
"""The limit of the time per client-step, as a multiple of the fastest."""
METHOD = fedcos(0.02)


def shared_data(sizes: np.ndarray, rows: int) -> FederatedData:
    """Random images, of which clients own `sizes`. If that is more than there are, rows have several owners."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    owned = Ownership(np.arange(offsets[-1], dtype=np.int32) % rows, offsets)
    return federate(MLP.random_dataset(rows, 1_000), owned)


def time_a_client_step(repeats: int) -> list[dict[str, float]]:
    """Time at each number of clients per round and local steps, in a population of 100,000 with 10 rows each."""
    data = devices.available().replicate(shared_data(np.full(POPULATION, BATCH), 60_000))
    model = MLP.build()

    def timer(cohort: int, steps: int) -> Iterator[float]:
        # Every cohort trains as many clients per run, so that a busy moment of the machine is as likely to hit each.
        rounds_per_run = max(COHORTS) // cohort
        return rounds(
            experiment(METHOD, data, model, rounds_per_run, cohort=cohort, local_steps=steps, batch_size=BATCH)
        )

    def measure(steps: int) -> list[dict[str, float]]:
        seconds = take_turns({str(cohort): timer(cohort, steps) for cohort in COHORTS}, repeats)
        per_step = [min(seconds[str(cohort)]) / (cohort * steps) for cohort in COHORTS]
        return [
            {
                "local_steps": steps,
                "clients": cohort,
                "seconds_a_client_step": each,
                "of_the_fastest": each / min(per_step),
            }
            for cohort, each in zip(COHORTS, per_step, strict=True)
        ]

    return [row for steps in LOCAL_STEPS for row in measure(steps)]


def peak_resident_bytes() -> int:
    """The peak memory of this program alone. getrusage would count what its parent had in memory when it started it."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def memory_of_population(population: int) -> dict[str, int]:
    """The memory of this process after a round of 100 clients of the population, and the memory of the program."""
    data = shared_data(np.full(population, MEMORY_ROWS // population), MEMORY_ROWS)
    shape = {"local_steps": LOCAL_STEPS[0], "batch_size": BATCH, "cohort": MEMORY_COHORT}
    program, arguments = compile_round(experiment(METHOD, data, MLP.build(), **shape))
    jax.block_until_ready(program(*arguments))
    memory = program_memory(program)
    assert memory is not None, "XLA gives no memory analysis here"
    return {
        "population": population,
        "dataset_bytes": sum(leaf.nbytes for leaf in jax.tree.leaves((data.train, data.test))),
        "program_argument_bytes": memory.arguments,
        "program_temporary_bytes": memory.temporaries,
        "peak_resident_bytes": peak_resident_bytes(),
    }


def in_own_process(population: int) -> dict[str, float]:
    """`memory_of_population` in a process that finds its program compiled, because compiling takes more memory."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--memory-of", str(population)]
    measure = functools.partial(subprocess.run, command, check=True, capture_output=True, text=True)
    measure()
    return json.loads(measure().stdout)


def time_of_unequal(repeats: int) -> list[dict[str, float]]:
    """A step of power-law clients beside a step of equal ones. Both cohorts have about as many steps in all."""
    unequal = power_law_sizes(UNEQUAL)
    mean_steps = round(steps_per_epoch(unequal, BATCH).mean())
    cohorts = {"unequal": unequal, "equal": np.full(UNEQUAL, mean_steps * BATCH)}
    data = {name: shared_data(sizes, 60_000) for name, sizes in cohorts.items()}

    def measure(model: Model) -> dict[str, float]:
        experiments = {
            name: experiment(METHOD, data[name], model, local_epochs=1, batch_size=BATCH) for name in cohorts
        }
        seconds = take_turns({name: rounds(each) for name, each in experiments.items()}, repeats)
        per_step = {name: min(seconds[name]) / steps_per_epoch(cohorts[name], BATCH).sum() for name in cohorts}
        return {
            "parameters": num_parameters(model),
            "chunk": experiments["equal"].federation.shapes.chunk,
            **{f"seconds_a_step_{name}": each for name, each in per_step.items()},
            "ratio": per_step["unequal"] / per_step["equal"],
        }

    return [measure(model) for model in (mlp(), mlp(hidden=8))]


SECTIONS: dict[str, Callable[[int], list[dict[str, float]]]] = {
    "clients": time_a_client_step,
    "populations": lambda repeats: [in_own_process(population) for population in POPULATIONS],
    "waste": lambda repeats: [
        waste(clients, chunk, count, exchange, BATCH)
        for clients, chunk, count, exchange in itertools.product(COHORTS[1:], CHUNKS, DEVICES, (False, True))
        if count > 1 or not exchange
    ],
    "unequal": time_of_unequal,
}


def report(measured: dict[str, Any]) -> None:
    print(f"MLP, {POPULATION:,} clients, local steps of {BATCH} rows")
    for row in measured.get("clients", ()):
        ratio, microseconds = row["of_the_fastest"], 1e6 * row["seconds_a_client_step"]
        print(
            f"{row['clients']:>8,} per round, {row['local_steps']:>2} steps  {microseconds:7.0f} µs per "
            f"client-step, {ratio:.2f} of the fastest ({verdict(ratio, FLAT)} {FLAT})"
        )
    print(f"{MEMORY_COHORT} clients per round, a dataset of {MEMORY_ROWS:,} rows, {jax.local_device_count()} devices")
    for row in measured.get("populations", ()):
        print(
            f"{row['population']:>8,} clients  process {row['peak_resident_bytes'] / 1e6:7.1f} MB at most; program "
            f"{row['program_argument_bytes'] / 1e6:.2f} MB of arguments (dataset {row['dataset_bytes'] / 1e6:.2f}) "
            f"and {row['program_temporary_bytes'] / 1e6:.2f} MB besides"
        )
    print("power-law clients, steps taken for each real one")
    for row in measured.get("waste", ()):
        worst = max(row["steps_taken"], row["devices_times_busiest"])
        print(
            f"{row['clients']:>8,} per round, at most {row['chunk']:>3} at once on {row['devices']} devices"
            f"{' that exchange memories' if row['exchange'] else ''}: "
            f"{row['steps_taken']:.3f}; {row['devices_times_busiest']:.3f} until the busiest device is done "
            f"({verdict(worst, WASTE)} {WASTE}); padded to the longest {row['padded_to_the_longest']:.0f}"
        )
    for row in measured.get("unequal", ()):
        print(
            f"measured, {row['parameters']:,} parameters, at most {row['chunk']} at once: a step of unequal clients "
            f"takes {row['ratio']:.2f} times a step of equal ones"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "sections", nargs="*", default=list(SECTIONS), help=f"any of {', '.join(SECTIONS)} (default: all)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="times each is measured (default: 3)")
    parser.add_argument("--memory-of", type=int, metavar="CLIENTS", help="only print the memory of this population")
    options = parser.parse_args()
    devices.use_all_cores()
    keep_compiled_programs()
    if options.memory_of:
        print(json.dumps(memory_of_population(options.memory_of)))
        return
    measured = read("scaling") | {name: SECTIONS[name](options.repeats) for name in options.sections}
    write("scaling", measured)
    if set(measured) >= set(SECTIONS):
        plots.scaling(measured)
    report(measured)


if __name__ == "__main__":
    main()
