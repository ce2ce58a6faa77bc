"""What a TPU would do with a training round: every model compiled ahead of time for a TPU v5e, without one at hand.

`make bench-tpu`: libtpu compiles one FedCos round of 10, 100 and 1,000 clients for one v5e chip. The compiler says how
much memory the program takes and how many cycles it expects for each instruction. Nothing is run or timed. No compiler
for CUDA is at hand, so for CUDA the round is only lowered to the module that would be sent there.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import sys
import time
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.experimental import topologies

from benchmarks.cycles import STEPS, estimated_cycles
from benchmarks.scenes import SCENES
from benchmarks.workload import RESULTS, markdown_table, write_json
from fedcos_jax import Experiment, FederatedData, Schedule, client_sgd, devices, fedcos
from fedcos_jax.engine.compilation import program_memory
from fedcos_jax.engine.devices import SAME, Placement
from fedcos_jax.engine.rounds import init_state, one_round
from fedcos_jax.types import Examples

CHIP, TOPOLOGY, MEMORY, CLOCK = "TPU v5e", "v5e:2x2", 16 * 2**30, 1.5e9
"""Memory of a chip in bytes, and cycles per second: 197 TFLOP/s = 4 units of 128 x 128 multiply-adds at 1.5 GHz."""
ROWS = 50_000


def training_round(name: str, clients: int, chunk: int, placement: Placement) -> tuple[Any, tuple]:
    """One round of the named model as a jitted function, and the shapes of its arguments on the placement."""
    scene = SCENES[name]
    numbers: Any = jax.ShapeDtypeStruct((ROWS,), jnp.int32)
    examples = Examples(jax.ShapeDtypeStruct((ROWS, *scene.input_shape), jnp.uint8), numbers)
    offsets: Any = jax.ShapeDtypeStruct((clients + 1,), jnp.int32)
    federation = Experiment(
        method=fedcos(0.02),
        optimizer=client_sgd(0.01),
        data=FederatedData(examples, examples, numbers, offsets, scene.preprocessing()),
        model=scene.build(),
        schedule=Schedule(rounds=1, local_steps=STEPS, batch_size=scene.batch, chunk=chunk, placement=placement),
    ).federation
    state = jax.eval_shape(init_state, jax.random.key(0), federation)
    sharding = placement.sharding(SAME)
    arguments = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), (state, federation)
    )
    return jax.jit(one_round, donate_argnums=0), arguments


def lowered_for(platform: str, name: str, clients: int) -> dict[str, int]:
    """The size of the round's module for a platform, and the number of convolutions in it."""
    program, arguments = training_round(name, clients, clients, devices.available(1))
    exported = jax.export.export(program, platforms=[platform])(*arguments)
    convolutions = exported.mlir_module().count("stablehlo.convolution")
    return {"module_bytes": len(exported.mlir_module_serialized), "convolutions": convolutions}


def compiled(name: str, clients: int, chunk: int, chip: Placement) -> dict[str, Any]:
    """What the compiler says about the round on the chip. It raises an error if the round does not fit the memory."""
    program, arguments = training_round(name, clients, chunk, chip)
    started = time.perf_counter()
    executable = program.trace(*arguments).lower(lowering_platforms=("tpu",)).compile()
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


def largest_fitting(name: str, clients: int, chip: Placement, known: dict[str, Any] | None) -> dict[str, Any]:
    """The round compiled with the largest chunk that fits the chip and divides the clients evenly.

    Args:
        name, clients, chip: as in `compiled`.
        known: the same model with fewer clients, from which to guess the memory of a chunk.
    """
    bytes_per_client = known["temp_bytes"] / known["chunk"] if known else 0
    for chunk in (size for size in range(clients, 0, -1) if clients % size == 0):
        if chunk * bytes_per_client > MEMORY:
            continue
        try:
            return compiled(name, clients, chunk, chip)
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
    "M cycles per local step",
    "ms per local step",
    "M cycles per round beside",
    "CUDA module kB (convolutions)",
    "TPU module kB (convolutions)",
)
NOTE = f"""\
One FedCos round on one {CHIP} chip (16 GiB), as libtpu compiled it. Nothing was run. *At once* is the largest chunk of
clients that fits the memory. The other clients follow in a loop. *Cycles per local step* are the compiler's estimates
for one local step of all clients, with the paper's batch: loops count as often as they turn, and drawing the batches is
included. The same in ms is at 1.5 GHz. *Cycles per round beside* is what a round does once. GFLOP and GB accessed are
XLA's own counts. They count a loop's body once: one local step of one chunk and what is beside it, and only one
character of an LSTM's recurrence. The modules are StableHLO as exported for the platform. A CPU's module has no
convolution in it."""


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


NAME = "tpu_v5e"


def stored() -> list[dict[str, Any]]:
    """The results on disk."""
    path = RESULTS / f"{NAME}.json"
    return json.loads(path.read_text())["rounds"] if path.exists() else []


def write(row: dict[str, Any], versions: dict[str, str]) -> None:
    """Writes the JSON and the table. Rounds that were compiled before and not now are kept."""
    by_key = {(row["model"], row["clients"]): row for row in [*stored(), row]}
    order = sorted(by_key, key=lambda key: (list(SCENES).index(key[0]), key[1]))
    merged = [by_key[key] for key in order]
    write_json(NAME, {"chip": CHIP, "versions": versions, "rounds": merged})
    write_page(merged, versions)


def write_page(rows: list[dict[str, Any]], versions: dict[str, str]) -> None:
    """Writes the table."""
    table = markdown_table(HEADINGS, ["---"] + ["---:"] * (len(HEADINGS) - 1), map(row_cells, rows))
    made_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    page = f"# {CHIP}, compiled ahead of time\n\n{NOTE}\n\n{table}\n\n{made_with}\n"
    (RESULTS / f"{NAME}.md").write_text(page)


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
    chip = Placement(tuple(topologies.get_topology_desc(TOPOLOGY, "tpu").devices[:1]))
    versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}
    print(" | ".join(HEADINGS))
    for name in options.models:
        for clients in sorted(options.clients):
            known = max(
                (row for row in stored() if row["model"] == name and row["clients"] < clients),
                key=lambda row: row["clients"],
                default=None,
            )
            row = largest_fitting(name, clients, chip, known)
            row |= {platform: lowered_for(platform, name, clients) for platform in ("cuda", "tpu")}
            write(row, versions)
            print(" | ".join(row_cells(row)), flush=True)


if __name__ == "__main__":
    main()
