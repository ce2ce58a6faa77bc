"""How much of this machine's matrix-product limit a whole round reaches, where the rest goes, and what grows with what.

Part of `make bench`: the paper's MLP, 7 clients, batch 128, FedCos, on random images. The parts of a round are measured
by ablation: the same program with one thing after another left out, all of them taking turns. What a part costs is the
difference that leaving it out makes; overlap is counted for whichever part is left out first.
"""

import argparse
import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp

from benchmarks import plots
from benchmarks.penalty_cost import BATCH, CLASSES, CLIENTS, HIDDEN, MULTIPLY_ADDS, PIXELS
from benchmarks.workload import calls, matmul_limit, random_dataset, rounds, take_turns, write
from fedcos_jax import fedavg, fedcos, federate
from fedcos_jax.engine import client
from fedcos_jax.engine import devices
from fedcos_jax.data import partition
from fedcos_jax.engine.compilation import keep_compiled_programs
from fedcos_jax.models import MLP, Model, from_flax, num_parameters
from fedcos_jax.types import Array, FederatedData, FederatedMethod

STEPS, AT_ONCE = 50, 3
CURVES = {
    "clients": (2, 14, 98),
    "local_steps": (1, 10, 100),
    "parameters": (25, 200, 1600),
    "rounds": (1, 8, 64),
}
"""Points of each cost curve; of parameters, the hidden units that make them."""


class Program(NamedTuple):
    """A round with something left out."""

    part: str
    """What the round has that the next program has not."""
    method: FederatedMethod = fedavg()
    at_once: int = AT_ONCE
    test_rows: int = 10
    dropout: float = 0.5
    batches: Callable[..., tuple[Array, Array]] | None = None
    """In place of `sampling.epoch_batch`."""


def in_storage_order(key: Array, rows: Array, step: Array, batch_size: int) -> tuple[Array, Array]:
    """Batches one after another as the rows are stored: the same reads, no random order."""
    start = (step * batch_size) % (rows - batch_size)
    return start + jnp.arange(batch_size), jnp.ones(batch_size, bool)


def always_the_first(key: Array, rows: Array, step: Array, batch_size: int) -> tuple[Array, Array]:
    """One batch for every step, which the compiler reads and scales once."""
    return jnp.arange(batch_size), jnp.ones(batch_size, bool)


WITHOUT_ONE_AFTER_ANOTHER = (
    Program("evaluation of 10,000 rows", fedcos(0.02), at_once=1, test_rows=10_000),
    Program("a call from the host", fedcos(0.02), at_once=1),
    Program("cosine penalty", fedcos(0.02)),
    Program("random order of rows"),
    Program("reading and scaling a batch", batches=in_storage_order),
    Program("dropout", batches=always_the_first),
    Program("", batches=always_the_first, dropout=0),
)


def make_data(clients: int = CLIENTS, test_rows: int = 10) -> FederatedData:
    dataset = random_dataset((28, 28), CLASSES, 60_000, test_rows)
    return federate(dataset, partition.build("iid", dataset.train.y, clients, 0))


def mlp(hidden: int = HIDDEN, dropout: float = 0.5) -> Model:
    return from_flax(MLP(CLASSES, hidden, dropout), (28, 28), "float32", None)


def timed(program: Program, data: FederatedData, steps: int) -> Iterator[float]:
    """Seconds of a round of the program."""
    model = mlp(dropout=program.dropout)
    patch: Any = contextlib.nullcontext()
    if program.batches is not None:
        # A model of its own has a program of its own, which is traced with these batches.
        model = model._replace(loss=functools.partial(model.loss))
        patch = mock.patch.object(local, "epoch_batch", program.batches)
    timer = rounds(program.method, data, model, program.at_once, local_steps=steps, batch_size=BATCH)
    with patch:
        yield next(timer)
    yield from timer


def products_only(steps: int) -> Iterator[float]:
    """Seconds of a round's matrix products alone, at their own shapes, shared among the devices as clients are."""
    devices = jax.local_device_count()
    clients = -(-CLIENTS // devices)
    x, first, second = (jnp.ones(shape) for shape in ((BATCH, PIXELS), (PIXELS, HIDDEN), (HIDDEN, CLASSES)))

    def step(_: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        # Each product takes the one before it along, scaled away, so that none is left out or moved.
        first, second = carry
        hidden = x @ first
        scores = hidden @ second
        second_gradient = hidden.T @ scores
        hidden_gradient = scores @ second.T
        first_gradient = x.T @ hidden_gradient
        return first + 1e-20 * first_gradient, second + 1e-20 * second_gradient

    def share(shares: Array) -> Array:
        first_end, second_end = jax.lax.fori_loop(0, clients * steps, step, (first * shares[0], second))
        return jnp.stack([first_end.sum() + second_end.sum()])

    program = jax.jit(devices.on_each(share, devices, devices.DIVIDED, devices.DIVIDED))
    yield from calls(program, devices.split(jnp.ones(devices), devices))


def breakdown(limit: float, steps: int, repeats: int) -> dict[str, Any]:
    """The parts of a round from the outside in, and the share of the limit that it reaches."""
    data = {rows: make_data(test_rows=rows) for rows in (10, 10_000)}
    timers = {p.part: timed(p, data[p.test_rows], steps) for p in WITHOUT_ONE_AFTER_ANOTHER}
    short = timed(Program("one step"), data[10], 1)
    seconds = take_turns(timers | {"products": products_only(steps), "one step": short}, repeats)
    best = {part: min(times) for part, times in seconds.items()}
    whole = best[WITHOUT_ONE_AFTER_ANOTHER[0].part]
    parts = {
        earlier.part: best[earlier.part] - best[later.part]
        for earlier, later in itertools.pairwise(WITHOUT_ONE_AFTER_ANOTHER)
    }
    # Two lengths of a round give its cost of no steps at all: the sums over clients, telemetry, the server's step.
    a_step = (best["random order of rows"] - best["one step"]) / (steps - 1)
    once = best["one step"] - a_step
    at_the_limit = CLIENTS * steps * MULTIPLY_ADDS / limit
    # Seven clients on two devices are four on one of them.
    divided = at_the_limit * (-(-CLIENTS // jax.local_device_count()) * jax.local_device_count() / CLIENTS)
    parts |= {
        "aggregation, telemetry, server": once,
        "activations, loss, update": best[""] - once - best["products"],
        "a device with one client less": divided - at_the_limit,
        "products of these shapes, below the limit": best["products"] - divided,
        "products at the limit": at_the_limit,
    }
    rows = [{"part": part, "seconds": each, "share": each / whole} for part, each in parts.items()]
    return {"round_seconds": whole, "of_the_limit": at_the_limit / whole, "breakdown": rows}


def curve(name: str, limit: float, repeats: int) -> list[dict[str, float]]:
    """Seconds of a round, or of a run of so many rounds, along one of CURVES; evaluation is of 10 rows."""

    def point(value: int) -> dict[str, float]:
        clients = value if name == "clients" else CLIENTS
        steps = value if name == "local_steps" else 25
        hidden = value if name == "parameters" else HIDDEN
        at_once = value if name == "rounds" else 1
        model = mlp(hidden)
        timer = rounds(fedcos(0.02), make_data(clients), model, at_once, local_steps=steps, batch_size=BATCH)
        seconds = at_once * min(take_turns({name: timer}, repeats)[name])
        multiply_adds = at_once * clients * steps * MULTIPLY_ADDS / HIDDEN * hidden
        x = num_parameters(model) if name == "parameters" else value
        return {name: x, "seconds": seconds, "of_the_limit": multiply_adds / limit / seconds}

    return [point(value) for value in CURVES[name]]


def report(measured: dict[str, Any]) -> None:
    print(
        f"FedCos on the MLP, {CLIENTS} clients, {measured['local_steps']} steps of {BATCH}: a round takes "
        f"{1e3 * measured['round_seconds']:.0f} ms, at {measured['of_the_limit']:.0%} of the matrix-product limit "
        f"({2 * measured['multiply_adds_a_second'] / 1e9:.0f} GFLOP/s)"
    )
    for row in measured["breakdown"]:
        print(f"  {row['part']:<44} {1e3 * row['seconds']:8.1f} ms {row['share']:7.1%}")
    for name, rows in measured["curves"].items():
        cells = [f"{row[name]:,}: {1e3 * row['seconds']:.1f} ms ({row['of_the_limit']:.0%})" for row in rows]
        print(f"{name.replace('_', ' ')}: {', '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=STEPS, help=f"local steps of the breakdown (default: {STEPS})")
    parser.add_argument("--repeats", type=int, default=6, help="times each is measured (default: 6)")
    options = parser.parse_args()
    devices.use_all_cores()
    keep_compiled_programs()
    limit = matmul_limit()
    measured = {
        "multiply_adds_a_second": limit,
        "local_steps": options.steps,
        **breakdown(limit, options.steps, options.repeats),
        "curves": {name: curve(name, limit, options.repeats) for name in CURVES},
    }
    write("round_costs", measured)
    plots.round_costs(measured)
    report(measured)


if __name__ == "__main__":
    main()
