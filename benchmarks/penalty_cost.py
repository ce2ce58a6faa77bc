"""What FedCos costs on top of FedAvg, and how near a round comes to this machine's own matrix-product limit.

`make bench`: the paper's MLP (784-200-10), 7 clients, batch 128, on random pixels of Fashion-MNIST's shape, whole
rounds with evaluation. The programs take turns round by round, so that a busy moment of the machine hits all of them.
"""

import argparse

import numpy as np

from benchmarks.scenes import MLP, divided
from benchmarks.workload import experiment, matmul_limit, rounds, take_turns
from fedcos_jax import FederatedMethod, devices, parse
from fedcos_jax.runs.result import versions

CLIENTS, HIDDEN, PIXELS = 7, 200, 784
PROGRAMS: dict[str, FederatedMethod] = {
    **{label: parse(label).build() for label in ("FedAvg", "FedProx(0.1)", "FedCos(0.02)")},
    "FedCos(0.02), as a row of a table": parse("FedCos(0.02)").in_paper_form(),
}
MULTIPLY_ADDS = MLP.batch * HIDDEN * (2 * PIXELS + 3 * MLP.classes)
"""In the matrix products of a local step: forward pass and weight gradient of both layers, input gradient of the
second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="local steps per round (default: 200)")
    parser.add_argument("--repeats", type=int, default=12, help="rounds of each program (default: 12)")
    options = parser.parse_args()
    devices.use_all_cores()
    data = divided(MLP.random_dataset(60_000, 10_000), "sorted", CLIENTS)
    shape = {"local_steps": options.steps, "batch_size": MLP.batch}
    timers = {name: rounds(experiment(method, data, MLP.build(), **shape)) for name, method in PROGRAMS.items()}
    report(take_turns(timers, options.repeats), CLIENTS * options.steps, matmul_limit())


def report(seconds: dict[str, list[float]], client_steps: int, limit: float) -> None:
    device = versions()["device"]
    rate = f"{2 * limit / 1e9:.0f} GFLOP/s"
    print(f"MLP, {CLIENTS} clients, batch {MLP.batch}, float32, {device}; matrix-product limit {rate}")
    print(f"{'':34} {'samples/s':>10} {'of the limit':>13} {'time, FedAvg = 1':>17}")
    base = np.array(seconds["FedAvg"])
    for name, times in seconds.items():
        best = min(times)
        # Each pair of rounds ran back to back, so the median is over the ratios of pairs.
        ratio = np.median(np.array(times) / base)
        share = client_steps * MULTIPLY_ADDS / best / limit
        print(f"{name:34} {client_steps * MLP.batch / best:10,.0f} {share:13.0%} {ratio:17.3f}")


if __name__ == "__main__":
    main()
