"""What a TPU would do with a training round: every model compiled ahead of time for a TPU v5e, without one at hand.

`make bench-tpu`: one FedCos round of 10, 100 and 1,000 clients, compiled by libtpu for one v5e chip. The compiler says
how much memory the program takes and how many cycles it expects of each instruction; nothing is run or timed. For CUDA,
where no compiler is at hand, the round is lowered to the module that would be sent there.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
from jax.experimental import topologies
from jax.tree_util import Partial

from benchmarks.workload import RESULTS
from fedcos_jax import Schedule, client_sgd, fedcos, models
from fedcos_jax.engine.compilation import program_memory
from fedcos_jax.data import scaled
from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.cifar import DEVIATION, MEAN
from fedcos_jax.data.dataset import as_stored
from fedcos_jax.engine.loop import init_state, one_round
from fedcos_jax.types import Examples, FederatedData

CHIP, TOPOLOGY, MEMORY, CLOCK = "TPU v5e", "v5e:2x2", 16 * 2**30, 1.5e9
"""Of one chip: bytes of memory, and cycles a second (197 TFLOP/s = 4 units of 128 x 128 multiply-adds · 1.5 GHz)."""
ROWS = 50_000
STEPS = 97
"""Local steps of the compiled round: a number of turns that no other loop has, so that their loop is known by it."""


class Scene(NamedTuple):
    """The shapes a model is trained on in the paper."""

    input_shape: tuple[int, ...]
    classes: int
    batch: int
    preprocess: Callable[[], Any]


def _pixels():
    return scaled(255.0, 0.5, 0.5)


def _augmented():
    return crop_and_flip(MEAN, DEVIATION)


def _symbols():
    return Partial(as_stored)


SCENES = {
    "mlp": Scene((28, 28), 10, 128, _pixels),
    "cnn": Scene((32, 32, 3), 10, 128, _augmented),
    "cnn_fmnist": Scene((28, 28), 10, 64, _pixels),
    "lstm": Scene((80,), 80, 10, _symbols),
    "resnet18": Scene((32, 32, 3), 100, 64, _augmented),
}


def training_round(name: str, clients: int, chunk: int) -> tuple[Any, tuple]:
    """One round of the named model as a jitted function, and the shapes of its arguments."""
    scene = SCENES[name]
    model = models.build(name, scene.input_shape, scene.classes)
    method, optimizer = (jax.tree.map(jnp.asarray, part) for part in (fedcos(0.02), client_sgd(0.01)))
    numbers: Any = jax.ShapeDtypeStruct((ROWS,), jnp.int32)
    examples = Examples(jax.ShapeDtypeStruct((ROWS, *scene.input_shape), jnp.uint8), numbers)
    offsets: Any = jax.ShapeDtypeStruct((clients + 1,), jnp.int32)
    data = FederatedData(examples, examples, numbers, offsets, scene.preprocess())
    schedule = Schedule(rounds=1, local_steps=STEPS, batch_size=scene.batch, chunk=chunk, devices=1)
    shapes = schedule.shapes(data, model)
    state = jax.eval_shape(lambda key: init_state(key, method, model, clients), jax.random.key(0))

    def run_round(state, method, optimizer, data):
        return one_round(state, method, optimizer, data, model, shapes)

    arguments = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), (state, method, optimizer, data)
    )
    return jax.jit(run_round, donate_argnums=0), arguments


def lowered_for(platform: str, name: str, clients: int) -> dict[str, int]:
    """Size of the round's module for a platform, and how many convolutions it has."""
    program, arguments = training_round(name, clients, clients)
    exported = jax.export.export(program, platforms=[platform])(*arguments)
    convolutions = exported.mlir_module().count("stablehlo.convolution")
    return {"module_bytes": len(exported.mlir_module_serialized), "convolutions": convolutions}


def compiled(name: str, clients: int, chunk: int, device: Any) -> dict[str, Any]:
    """What the compiler says of the round on the device; an error of the compiler if it does not fit its memory."""
    program, arguments = training_round(name, clients, chunk)
    sharding = jax.sharding.SingleDeviceSharding(device)
    placed = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), arguments)
    started = time.perf_counter()
    executable = program.trace(*placed).lower(lowering_platforms=("tpu",)).compile()
    seconds = time.perf_counter() - started
    costs, memory, hlo = executable.cost_analysis(), program_memory(executable), executable.as_text()
    assert memory is not None, "the TPU's compiler says what memory it needs"
    beside = estimated_cycles(hlo, steps=0)
    return {
        "model": name,
        "clients": clients,
        "chunk": chunk,
        "batch": SCENES[name].batch,
        "flops": costs["flops"],
        "bytes_accessed": costs["bytes accessed"],
        "temp_bytes": memory.temporaries,
        "argument_bytes": memory.arguments,
        "output_bytes": memory.outputs,
        "step_cycles": estimated_cycles(hlo, steps=1) - beside,
        "round_cycles_beside_steps": beside,
        "compile_seconds": round(seconds, 1),
    }


def estimated_cycles(hlo: str, steps: int) -> int:
    """Σ of the compiler's estimates over all instructions, the body of a loop as often as it is run.

    Args:
        hlo: a compiled program as text. Its estimates count the body of a loop once.
        steps: how often to count the loop of local steps.
    """
    computations: dict[str, list[str]] = {}
    entry, lines = "", []
    for line in hlo.splitlines():
        if head := re.match(r"(ENTRY )?%(\S+) \(.*\{$", line):
            lines = computations[head[2]] = []
            entry = head[2] if head[1] else entry
        lines.append(line)

    def cycles(computation: str) -> int:
        total = 0
        for line in computations[computation]:
            if estimate := re.search(r'"estimated_cycles":"(\d+)"', line):
                total += int(estimate[1])
            if loop := re.search(r" while\(.* condition=%([^\s,]+), body=%([^\s,]+)", line):
                total += _turns(computations[loop[1]], steps) * cycles(loop[2])
        return total

    return cycles(entry)


def _turns(condition: list[str], steps: int) -> int:
    """How often a loop is run, by its condition: a counter below a constant, or below a number known at run time.

    Only the local steps have a limit of the second kind, unless the compiler sees that it is STEPS. A loop that waits
    for something else (a permutation to land inside its range, which it mostly does at once) counts once.
    """
    text = "\n".join(condition)
    if limit := re.search(r" constant\((\d+)\)", text):
        return steps if int(limit[1]) == STEPS else int(limit[1])
    return steps if re.search(r"ROOT .* compare\(.*direction=LT", text) else 1


def largest_fitting(name: str, clients: int, device: Any, known: dict[str, Any] | None) -> dict[str, Any]:
    """The round compiled with the largest chunk of clients that fits the chip, a divisor of all of them.

    Args:
        name, clients, device: as in `compiled`.
        known: the same model with fewer clients, from which to guess the memory of a chunk.
    """
    a_client = known["temp_bytes"] / known["chunk"] if known else 0
    for chunk in (size for size in range(clients, 0, -1) if clients % size == 0):
        if chunk * a_client > MEMORY:
            continue
        try:
            return compiled(name, clients, chunk, device)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
    raise RuntimeError(f"not even one client of {name} fits {CHIP}")


HEADINGS = (
    "model",
    "clients",
    "at once",
    "GFLOP",
    "GB accessed",
    "temp MB",
    "arguments MB",
    "output MB",
    "M cycles a local step",
    "ms a local step",
    "M cycles a round beside",
    "CUDA module kB (convolutions)",
    "TPU module kB (convolutions)",
)
NOTE = f"""\
One FedCos round on one {CHIP} chip (16 GiB), as libtpu compiled it; nothing was run. *At once* is the largest chunk of
clients that fits the memory; the others follow in a loop. *Cycles a local step*: the compiler's estimates for one local
step of all clients (batch as in the paper), loops counted as often as they turn, drawing the batches included; in ms at
1.5 GHz. *Cycles a round beside*: what a round does once. GFLOP and GB accessed are XLA's own counts, which take a
loop's body once: one local step of one chunk and what is beside it, of an LSTM's recurrence only one character.
The modules are StableHLO as exported for the platform; CPUs have no convolution in theirs."""


def row_cells(row: dict[str, Any]) -> list[str]:
    """A result as the cells of the table."""
    return [
        row["model"],
        f"{row['clients']:,}",
        f"{row['chunk']:,}",
        f"{row['flops'] / 1e9:,.1f}",
        f"{row['bytes_accessed'] / 1e9:,.2f}",
        *(f"{row[f'{kind}_bytes'] / 1e6:,.1f}" for kind in ("temp", "argument", "output")),
        f"{row['step_cycles'] / 1e6:,.2f}",
        f"{row['step_cycles'] / CLOCK * 1e3:,.2f}",
        f"{row['round_cycles_beside_steps'] / 1e6:,.2f}",
        *(f"{row[p]['module_bytes'] / 1e3:,.0f} ({row[p]['convolutions']})" for p in ("cuda", "tpu")),
    ]


PATH = RESULTS / "tpu_v5e.json"


def stored() -> list[dict[str, Any]]:
    """The results on disk."""
    return json.loads(PATH.read_text())["rounds"] if PATH.exists() else []


def write(row: dict[str, Any], versions: dict[str, str]) -> None:
    """The JSON and the table; what was compiled before and not now is kept."""
    by_key = {(row["model"], row["clients"]): row for row in [*stored(), row]}
    order = sorted(by_key, key=lambda key: (list(SCENES).index(key[0]), key[1]))
    merged = [by_key[key] for key in order]
    RESULTS.mkdir(exist_ok=True)
    PATH.write_text(json.dumps({"chip": CHIP, "versions": versions, "rounds": merged}, indent=1) + "\n")
    lines = [HEADINGS, ["---"] + ["---:"] * (len(HEADINGS) - 1), *map(row_cells, merged)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    made_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    PATH.with_suffix(".md").write_text(f"# {CHIP}, compiled ahead of time\n\n{NOTE}\n\n{table}\n\n{made_with}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=SCENES, default=list(SCENES), help="default: all")
    parser.add_argument("--clients", nargs="+", type=int, default=[10, 100, 1000], help="default: 10 100 1000")
    options = parser.parse_args()
    if importlib.util.find_spec("libtpu") is None:
        sys.exit("benchmarks.accelerators: error: libtpu, the TPU compiler, is not installed; `make bench-tpu` does it")
    jax.config.update("jax_platforms", "cpu")
    os.environ |= {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": "v5litepod-4",
        "TPU_WORKER_HOSTNAMES": "localhost",
    }
    device = topologies.get_topology_desc(TOPOLOGY, "tpu").devices[0]
    versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}
    print(" | ".join(HEADINGS))
    for name in options.models:
        for clients in sorted(options.clients):
            known = max(
                (row for row in stored() if row["model"] == name and row["clients"] < clients),
                key=lambda row: row["clients"],
                default=None,
            )
            row = largest_fitting(name, clients, device, known)
            row |= {platform: lowered_for(platform, name, clients) for platform in ("cuda", "tpu")}
            write(row, versions)
            print(" | ".join(row_cells(row)), flush=True)


if __name__ == "__main__":
    main()
