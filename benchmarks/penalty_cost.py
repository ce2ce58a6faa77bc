"""What FedCos costs on top of FedAvg, and how near a round comes to this machine's own matrix-product limit.

`make bench`: the paper's MLP (784-200-10), 7 clients, batch 128, on random pixels of Fashion-MNIST's shape, whole
rounds with evaluation. Programs take turns round by round, so that a busy moment of the machine hits all of them.
"""

import argparse
import itertools
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax import Schedule, client_sgd, federate, mesh, models, partition, run
from fedcos_jax.data import Dataset, scaled
from fedcos_jax.experiment import versions
from fedcos_jax.methods import in_paper_form, parse
from fedcos_jax.types import Examples, FederatedData, FederatedMethod

CLIENTS, BATCH, HIDDEN, PIXELS, CLASSES = 7, 128, 200, 784, 10
PROGRAMS: dict[str, FederatedMethod] = {
    **{label: parse(label).build() for label in ("FedAvg", "FedProx(0.1)", "FedCos(0.02)")},
    "FedCos(0.02), as a row of a table": in_paper_form(parse("FedCos(0.02)")),
}
MULTIPLY_ADDS = BATCH * HIDDEN * (2 * PIXELS + 3 * CLASSES)
"""Of a local step's matrix products: forward and weight gradient of both layers, input gradient of the second."""


def random_data() -> FederatedData:
    """60,000 + 10,000 random images and labels."""
    rng = np.random.default_rng(0)
    train, test = (
        Examples(rng.integers(0, 256, (rows, 28, 28), np.uint8), rng.integers(0, CLASSES, rows, np.int32))
        for rows in (60_000, 10_000)
    )
    dataset = Dataset("random", train, test, CLASSES, scaled(255.0, 0.5, 0.5))
    return federate(dataset, partition.build("sorted", dataset.train.y, CLIENTS, 0))


def matmul_limit() -> float:
    """Best rate of float32 products of 2048 x 2048 matrices on all cores, in multiply-adds a second."""
    matrix = jnp.ones((2048, 2048))
    product = jax.jit(jnp.matmul)
    product(matrix, matrix).block_until_ready()

    def seconds() -> float:
        started = time.perf_counter()
        product(matrix, matrix).block_until_ready()
        return time.perf_counter() - started

    return 2048**3 / min(seconds() for _ in range(10))


def rounds_of(method: FederatedMethod, data: FederatedData, steps: int) -> Iterator[float]:
    """Runs a method round by round and yields the seconds of each round, the compilation left out."""
    model = models.build("mlp", (28, 28), CLASSES)
    state, data = None, mesh.replicate(data, min(CLIENTS, jax.local_device_count()))
    for completed in itertools.count(1):
        schedule = Schedule(rounds=completed, local_steps=steps, batch_size=BATCH)
        started = time.perf_counter()
        state, _ = run(jax.random.key(0), method, client_sgd(0.01), data, model, schedule, state=state)
        if completed > 1:
            yield time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="local steps a round (default: 200)")
    parser.add_argument("--repeats", type=int, default=12, help="rounds of each program (default: 12)")
    options = parser.parse_args()
    mesh.use_all_cores()
    data = random_data()
    timers = {name: rounds_of(method, data, options.steps) for name, method in PROGRAMS.items()}
    for timer in timers.values():
        next(timer)
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(options.repeats):
        for name, timer in timers.items():
            seconds[name].append(next(timer))
    report(seconds, CLIENTS * options.steps, matmul_limit())


def report(seconds: dict[str, list[float]], client_steps: int, limit: float) -> None:
    device = versions()["device"]
    print(
        f"MLP, {CLIENTS} clients, batch {BATCH}, float32, {device}; matrix-product limit {2 * limit / 1e9:.0f} GFLOP/s"
    )
    print(f"{'':34} {'samples/s':>10} {'of the limit':>13} {'time, FedAvg = 1':>17}")
    base = np.array(seconds["FedAvg"])
    for name, times in seconds.items():
        best = min(times)
        # The median of round-by-round ratios: each pair ran back to back.
        ratio = np.median(np.array(times) / base)
        share = client_steps * MULTIPLY_ADDS / best / limit
        print(f"{name:34} {client_steps * BATCH / best:10,.0f} {share:13.0%} {ratio:17.3f}")


if __name__ == "__main__":
    main()
