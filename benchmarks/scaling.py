"""From 10 to 10,000 clients a round out of 100,000: time a client-step, memory, and what unequal clients waste.

`make bench-scaling`. The paper's MLP on random images. Each memory is measured in a process of its own.
"""

import argparse
import functools
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import plots
from benchmarks.workload import compile_round, random_dataset, read, rounds, take_turns, write
from fedcos_jax import Schedule, fedcos, federate, models
from fedcos_jax.engine import chunks
from fedcos_jax.engine import devices
from fedcos_jax.engine.compilation import keep_compiled_programs, program_memory
from fedcos_jax.models import MLP, Model, from_flax, num_parameters
from fedcos_jax.data.partition import Ownership
from fedcos_jax.engine.sampling import steps_per_epoch
from fedcos_jax.engine.schedule import Shapes
from fedcos_jax.types import Array, FederatedData

POPULATION, COHORTS, BATCH = 100_000, (10, 100, 1_000, 10_000), 10
LOCAL_STEPS = 5, 20
POPULATIONS, MEMORY_COHORT, MEMORY_ROWS = (1_000, 10_000, 100_000), 100, 100_000
UNEQUAL, CHUNKS, DEVICES = 1_000, (1, 16, 256), (1, 2, 8)
FLAT, WASTE = 1.2, 1.3
"""What is asked for: time a client-step at most so many times the fastest, work so many times the real steps."""
METHOD = fedcos(0.02)


def shared_data(sizes: np.ndarray, rows: int) -> FederatedData:
    """Random images of which clients own so many; where they own more than there are, rows have several owners."""
    dataset = random_dataset((28, 28), 10, rows, 1_000)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return federate(dataset, Ownership(np.arange(offsets[-1], dtype=np.int32) % rows, offsets))


def paper_mlp(hidden: int = 200) -> Model:
    """784-200-10, or another width; chunks as suit its size."""
    return from_flax(MLP(10, hidden), (28, 28), "float32", None)


def time_a_client_step(repeats: int) -> list[dict[str, float]]:
    """At each number of clients a round and local steps, of a population of 100,000 with 10 rows each."""
    data = devices.replicate(shared_data(np.full(POPULATION, BATCH), 60_000), jax.local_device_count())
    model = models.build("mlp", (28, 28), 10)

    def measure(steps: int) -> list[dict[str, float]]:
        shape = {"local_steps": steps, "batch_size": BATCH}
        # As many clients a call in every cohort, so that a busy moment of the machine hits each as likely.
        timers = {
            str(cohort): rounds(METHOD, data, model, at_once=max(COHORTS) // cohort, cohort=cohort, **shape)
            for cohort in COHORTS
        }
        seconds = take_turns(timers, repeats)
        a_step = [min(seconds[str(cohort)]) / (cohort * steps) for cohort in COHORTS]
        return [
            {
                "local_steps": steps,
                "clients": cohort,
                "seconds_a_client_step": each,
                "of_the_fastest": each / min(a_step),
            }
            for cohort, each in zip(COHORTS, a_step, strict=True)
        ]

    return [row for steps in LOCAL_STEPS for row in measure(steps)]


def peak_resident_bytes() -> int:
    """Of this program alone: getrusage would count what its parent had in memory when it started it."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def memory_of_population(population: int) -> dict[str, int]:
    """Of this process, after a round of 100 clients of the population on the same dataset; and of the program."""
    data = shared_data(np.full(population, MEMORY_ROWS // population), MEMORY_ROWS)
    schedule = Schedule(rounds=1, local_steps=LOCAL_STEPS[0], batch_size=BATCH, cohort=MEMORY_COHORT)
    program, arguments = compile_round(METHOD, data, models.build("mlp", (28, 28), 10), schedule)
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
    """`memory_of_population` of a process that finds its program compiled: compiling takes more than running it."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--memory-of", str(population)]
    measure = functools.partial(subprocess.run, command, check=True, capture_output=True, text=True)
    measure()
    return json.loads(measure().stdout)


def power_law_sizes(clients: int, exponent: float = 1.5, smallest: int = 10) -> np.ndarray:
    """The quantiles of a Pareto distribution: P(rows > n) = (smallest / n)^exponent."""
    quantiles = (np.arange(clients) + 0.5) / clients
    return np.floor(smallest * quantiles ** (-1 / exponent)).astype(np.int32)


def work_done(num_steps: np.ndarray, chunk: int, devices: int, exchange: bool = False) -> tuple[int, int]:
    """Steps that the chunks of a round take, waiting included: of all devices, and of the busiest.

    Devices that exchange memories, as where clients remember something, wait for each other after each wave.
    """
    falling = -jnp.sort(-jnp.asarray(num_steps))
    clients = len(num_steps)
    shapes = Shapes(1, 1, BATCH, clients, min(chunk, clients), 1, devices)
    wave, room = (shapes.wave, shapes.room) if exchange else (clients, clients)
    (padded,) = chunks.pad((falling,), -clients % wave, (0,))
    each = np.array([_steps_of_wave(steps, devices, shapes.chunk, room) for steps in padded.reshape(-1, wave)])
    return int(each.sum()), int(each.max(axis=1).sum())


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _steps_of_wave(num_steps: Array, devices: int, chunk: int, room: int) -> Array:
    """Steps taken by each device [devices] for clients of so many, falling."""

    def count(carry: tuple, steps: Array) -> tuple[tuple, Array]:
        return carry, steps.shape[0] * jnp.max(steps)

    owners = devices.least_loaded(num_steps, devices, room)
    shares = [devices.share_of_work((num_steps,), (0,), owners == device, room) for device in range(devices)]
    return jnp.stack([chunks.over_unequal_chunks(count, chunk, share[0], (), share, (0,))[1] for share in shares])


def waste(clients: int, chunk: int, devices: int, exchange: bool) -> dict[str, float]:
    """Of a cohort with power-law sizes and one local epoch, in multiples of the real steps."""
    num_steps = steps_per_epoch(power_law_sizes(clients), BATCH)
    real = int(num_steps.sum())
    total, busiest = work_done(num_steps, chunk, devices, exchange)
    return {
        "exchange": exchange,
        "clients": clients,
        "chunk": chunk,
        "devices": devices,
        "steps_taken": total / real,
        "devices_times_busiest": devices * busiest / real,
        "padded_to_the_longest": clients * int(num_steps.max()) / real,
    }


def time_of_unequal(repeats: int) -> list[dict[str, float]]:
    """A step of power-law clients beside a step of as many equal ones with about as many steps in all."""
    unequal = power_law_sizes(UNEQUAL)
    mean_steps = round(steps_per_epoch(unequal, BATCH).mean())
    cohorts = {"unequal": unequal, "equal": np.full(UNEQUAL, mean_steps * BATCH)}
    data = {name: shared_data(sizes, 60_000) for name, sizes in cohorts.items()}
    shape = {"local_epochs": 1, "batch_size": BATCH}

    def measure(model: Model) -> dict[str, float]:
        timers = {name: rounds(METHOD, data[name], model, **shape) for name in cohorts}
        seconds = take_turns(timers, repeats)
        a_step = {name: min(seconds[name]) / steps_per_epoch(cohorts[name], BATCH).sum() for name in cohorts}
        return {
            "parameters": num_parameters(model),
            "chunk": Schedule(rounds=1, **shape).shapes(data["equal"], model).chunk,
            **{f"seconds_a_step_{name}": each for name, each in a_step.items()},
            "ratio": a_step["unequal"] / a_step["equal"],
        }

    return [measure(model) for model in (paper_mlp(), paper_mlp(hidden=8))]


SECTIONS: dict[str, Callable[[int], list[dict[str, float]]]] = {
    "clients": time_a_client_step,
    "populations": lambda repeats: [in_own_process(population) for population in POPULATIONS],
    "waste": lambda repeats: [
        waste(clients, chunk, devices, exchange)
        for clients, chunk, devices, exchange in itertools.product(COHORTS[1:], CHUNKS, DEVICES, (False, True))
        if devices > 1 or not exchange
    ],
    "unequal": time_of_unequal,
}


def report(measured: dict[str, Any]) -> None:
    print(f"MLP, {POPULATION:,} clients, local steps of {BATCH} rows")
    for row in measured.get("clients", ()):
        ratio, microseconds = row["of_the_fastest"], 1e6 * row["seconds_a_client_step"]
        print(
            f"{row['clients']:>8,} a round, {row['local_steps']:>2} steps  {microseconds:7.0f} µs a "
            f"client-step, {ratio:.2f} of the fastest ({'within' if ratio <= FLAT else 'OVER'} {FLAT})"
        )
    print(f"{MEMORY_COHORT} clients a round, a dataset of {MEMORY_ROWS:,} rows, {jax.local_device_count()} devices")
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
            f"{row['clients']:>8,} a round, at most {row['chunk']:>3} at once on {row['devices']} devices"
            f"{' that exchange memories' if row['exchange'] else ''}: "
            f"{row['steps_taken']:.3f}; {row['devices_times_busiest']:.3f} until the busiest device is done "
            f"({'within' if worst <= WASTE else 'OVER'} {WASTE}); "
            f"padded to the longest {row['padded_to_the_longest']:.0f}"
        )
    for row in measured.get("unequal", ()):
        print(
            f"measured, {row['parameters']:,} parameters, at most {row['chunk']} at once: a step of unequal clients "
            f"takes {row['ratio']:.2f} times a step of equal ones"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=f"of {', '.join(SECTIONS)} (default: all)")
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
