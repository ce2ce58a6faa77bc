"""What FedCos costs on top of FedAvg, and how near a round comes to this machine's own matrix-product limit.

`make bench`: the paper's MLP (784-200-10), 7 clients, batch 128, on random pixels of Fashion-MNIST's shape, whole
rounds with evaluation. Programs take turns round by round, so that a busy moment of the machine hits all of them.
"""

import argparse

import numpy as np

from benchmarks.workload import matmul_limit, random_dataset, rounds, take_turns
from fedcos_jax import federate, models
from fedcos_jax.engine import devices
from fedcos_jax.data import partition
from fedcos_jax.runs.config import versions
from fedcos_jax.methods import in_paper_form, parse
from fedcos_jax.types import FederatedMethod

CLIENTS, BATCH, HIDDEN, PIXELS, CLASSES = 7, 128, 200, 784, 10
PROGRAMS: dict[str, FederatedMethod] = {
    **{label: parse(label).build() for label in ("FedAvg", "FedProx(0.1)", "FedCos(0.02)")},
    "FedCos(0.02), as a row of a table": in_paper_form(parse("FedCos(0.02)")),
}
MULTIPLY_ADDS = BATCH * HIDDEN * (2 * PIXELS + 3 * CLASSES)
"""Of a local step's matrix products: forward and weight gradient of both layers, input gradient of the second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="local steps a round (default: 200)")
    parser.add_argument("--repeats", type=int, default=12, help="rounds of each program (default: 12)")
    options = parser.parse_args()
    devices.use_all_cores()
    dataset = random_dataset((28, 28), CLASSES, 60_000, 10_000)
    data = federate(dataset, partition.build("sorted", dataset.train.y, CLIENTS, 0))
    model = models.build("mlp", dataset.input_shape, CLASSES)
    shape = {"local_steps": options.steps, "batch_size": BATCH}
    timers = {name: rounds(method, data, model, **shape) for name, method in PROGRAMS.items()}
    report(take_turns(timers, options.repeats), CLIENTS * options.steps, matmul_limit())


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
