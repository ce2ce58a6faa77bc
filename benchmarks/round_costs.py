"""How much of this machine's matrix-product limit a whole round reaches, where the rest goes, and what grows with what.

Part of `make bench`: the paper's MLP, 7 clients, batch 128, FedCos, on random images. The parts of a round are measured
by ablation: the same program runs with one thing after another left out, and all programs take turns. The cost of a
part is the difference that leaving it out makes. If two parts overlap in time, the one that is left out first gets it.
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
from benchmarks.penalty_cost import CLIENTS, HIDDEN, MULTIPLY_ADDS, PIXELS
from benchmarks.scenes import MLP, divided, mlp
from benchmarks.workload import calls, experiment, matmul_limit, rounds, take_turns, write
from fedcos_jax import FederatedData, FederatedMethod, devices, fedavg, fedcos
from fedcos_jax.engine import client
from fedcos_jax.engine.compilation import keep_compiled_programs
from fedcos_jax.engine.devices import DIVIDED
from fedcos_jax.models import num_parameters
from fedcos_jax.types import Array

STEPS, ROUNDS_PER_RUN = 50, 3
CURVES = {
    "clients": (2, 14, 98),
    "local_steps": (1, 10, 100),
    "parameters": (25, 200, 1600),
    "rounds": (1, 8, 64),
}
"""The points of each cost curve. For parameters they are the numbers of hidden units."""


class Program(NamedTuple):
    """A round with something left out."""

    part: str
    """What the round has that the next program does not have."""
    method: FederatedMethod = fedavg()
    rounds_per_run: int = ROUNDS_PER_RUN
    test_rows: int = 10
    dropout: float = 0.5
    batches: Callable[..., tuple[Array, Array]] | None = None
    """What to use instead of `sampling.epoch_batch`."""


def in_storage_order(key: Array, rows: Array, step: Array, batch_size: int) -> tuple[Array, Array]:
    """Batches one after another as the rows are stored. They read as much, without a random order."""
    start = (step * batch_size) % (rows - batch_size)
    return start + jnp.arange(batch_size), jnp.ones(batch_size, bool)


def always_the_first(key: Array, rows: Array, step: Array, batch_size: int) -> tuple[Array, Array]:
    """One batch for every step, which the compiler reads and scales once."""
    return jnp.arange(batch_size), jnp.ones(batch_size, bool)


WITHOUT_ONE_AFTER_ANOTHER = (
    Program("evaluation of 10,000 rows", fedcos(0.02), rounds_per_run=1, test_rows=10_000),
    Program("a call from the host", fedcos(0.02), rounds_per_run=1),
    Program("cosine penalty", fedcos(0.02)),
    Program("random order of rows"),
    Program("reading and scaling a batch", batches=in_storage_order),
    Program("dropout", batches=always_the_first),
    Program("", batches=always_the_first, dropout=0),
)


def make_data(clients: int = CLIENTS, test_rows: int = 10) -> FederatedData:
    """Random images, divided evenly."""
    return divided(MLP.random_dataset(60_000, test_rows), "iid", clients)


def timed(program: Program, data: FederatedData, steps: int) -> Iterator[float]:
    """Seconds per round of the program."""
    model = mlp(dropout=program.dropout)
    patch: Any = contextlib.nullcontext()
    if program.batches is not None:
        # Another model object has another program, which is traced with these batches.
        model = model._replace(loss=functools.partial(model.loss))
        patch = mock.patch.object(client, "epoch_batch", program.batches)
    shape = {"local_steps": steps, "batch_size": MLP.batch}
    timer = rounds(experiment(program.method, data, model, program.rounds_per_run, **shape))
    with patch:
        yield next(timer)
    yield from timer


def products_only(steps: int) -> Iterator[float]:
    """Seconds of a round's matrix products alone, at their own shapes, shared among the devices as clients are."""
    placement = devices.available()
    clients = -(-CLIENTS // placement.count)
    x, first, second = (jnp.ones(shape) for shape in ((MLP.batch, PIXELS), (PIXELS, HIDDEN), (HIDDEN, MLP.classes)))

    def step(_: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        # Each product depends on the one before it, by a negligible amount, so that XLA leaves out and moves none.
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

    program = jax.jit(placement.on_each(share, DIVIDED, DIVIDED))
    yield from calls(program, placement.split(jnp.ones(placement.count)))


def breakdown(limit: float, steps: int, repeats: int) -> dict[str, Any]:
    """The parts of a round from the outside in, and the share of the limit that the round reaches."""
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
    # Rounds of two lengths give the cost of a round without steps: the sums over clients, telemetry, the server's step.
    per_step = (best["random order of rows"] - best["one step"]) / (steps - 1)
    once = best["one step"] - per_step
    at_the_limit = CLIENTS * steps * MULTIPLY_ADDS / limit
    # If seven clients share two devices, one of the devices has four of them, and the other one waits.
    waiting = at_the_limit * (devices.available().even_rows(CLIENTS) / CLIENTS)
    parts |= {
        "aggregation, telemetry, server": once,
        "activations, loss, update": best[""] - once - best["products"],
        "a device with one client less": waiting - at_the_limit,
        "products of these shapes, below the limit": best["products"] - waiting,
        "products at the limit": at_the_limit,
    }
    rows = [{"part": part, "seconds": each, "share": each / whole} for part, each in parts.items()]
    return {"round_seconds": whole, "of_the_limit": at_the_limit / whole, "breakdown": rows}


def curve(name: str, limit: float, repeats: int) -> list[dict[str, float]]:
    """Seconds per round, or per run of several rounds, along one of CURVES. The evaluation has 10 rows."""

    def point(value: int) -> dict[str, float]:
        clients = value if name == "clients" else CLIENTS
        steps = value if name == "local_steps" else 25
        hidden = value if name == "parameters" else HIDDEN
        rounds_per_run = value if name == "rounds" else 1
        model = mlp(hidden)
        shape = {"local_steps": steps, "batch_size": MLP.batch}
        timer = rounds(experiment(fedcos(0.02), make_data(clients), model, rounds_per_run, **shape))
        seconds = rounds_per_run * min(take_turns({name: timer}, repeats)[name])
        multiply_adds = rounds_per_run * clients * steps * MULTIPLY_ADDS / HIDDEN * hidden
        x = num_parameters(model) if name == "parameters" else value
        return {name: x, "seconds": seconds, "of_the_limit": multiply_adds / limit / seconds}

    return [point(value) for value in CURVES[name]]


def report(measured: dict[str, Any]) -> None:
    print(
        f"FedCos on the MLP, {CLIENTS} clients, {measured['local_steps']} steps of {MLP.batch}: a round takes "
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
