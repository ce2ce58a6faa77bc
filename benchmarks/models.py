"""Training speed of every model against a plain PyTorch loop over the same clients, the way the paper was run.

`make bench-models` (an environment of its own, with PyTorch). Whole local steps on both sides, in one process, the
programs taking turns: data access, augmentation, dropout, forward, backward, update; 2 threads.

Printed: training samples/s of our program with all clients at once and one after another, of the PyTorch loop, and of
`vmap` over clients of XLA's own convolution; the ratio of our faster one to PyTorch; the share of this machine's
matrix-product limit that the model's own multiplications make up.
"""

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import torch

from benchmarks import torch_models
from benchmarks.penalty_cost import matmul_limit
from fedcos_jax import Schedule, client_sgd, fedavg, federate, models, partition, run
from fedcos_jax.data import Dataset, scaled
from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.cifar import DEVIATION, MEAN
from fedcos_jax.models import conv
from fedcos_jax.types import Examples, FederatedData

THREADS = 2


class Case(NamedTuple):
    """A model in the scene the paper uses it in."""

    input_shape: tuple[int, ...]
    classes: int
    clients: int
    batch: int
    steps: int
    theirs: Callable[[], torch.nn.Module]
    augmented: bool = False


CASES = {
    "mlp": Case((28, 28), 10, 7, 128, 100, torch_models.mlp),
    "cnn": Case((32, 32, 3), 10, 5, 128, 20, torch_models.cnn, augmented=True),
    "cnn_fmnist": Case((28, 28), 10, 10, 64, 20, torch_models.cnn_fmnist),
    "lstm": Case((80,), 80, 14, 10, 10, torch_models.LSTM),
    "resnet18": Case((32, 32, 3), 100, 5, 64, 1, lambda: torch_models.resnet18(64, 100), augmented=True),
}


def random_data(case: Case, rows_a_client: int = 1000) -> FederatedData:
    """Random inputs and labels, shared out evenly."""
    rng = np.random.default_rng(0)
    symbols = len(case.input_shape) == 1
    highest, dtype = (case.classes, np.int32) if symbols else (256, np.uint8)

    def examples(rows: int) -> Examples:
        return Examples(rng.integers(0, highest, (rows, *case.input_shape), dtype), rng.integers(0, case.classes, rows))

    plain = scaled(255.0, 0.5, 0.5) if not symbols else jax.tree_util.Partial(lambda x, key: x)
    preprocess = crop_and_flip(MEAN, DEVIATION) if case.augmented else plain
    dataset = Dataset("random", examples(case.clients * rows_a_client), examples(10), case.classes, preprocess)
    return federate(dataset, partition.build("iid", dataset.train.y, case.clients, 0))


def ours(case: Case, data: FederatedData, model: models.Model, chunk: int | None) -> Iterator[float]:
    """Seconds of each round, the compilation left out."""
    state = None
    for completed in itertools.count(1):
        schedule = Schedule(rounds=completed, local_steps=case.steps, batch_size=case.batch, chunk=chunk)
        started = time.perf_counter()
        state, _ = run(jax.random.key(0), fedavg(), client_sgd(0.01), data, model, schedule, state=state)
        if completed > 1:
            yield time.perf_counter() - started


def windowed(name: str, case: Case) -> models.Model:
    """The model on XLA's own convolution: another object, so that it is traced anew."""
    module = models.MODELS[name].module(case.classes)
    model = models.from_flax.__wrapped__(module, case.input_shape, _input_dtype(case))

    def apply(params, x, key):
        with mock.patch.object(conv, "conv_pool", conv.window_conv):
            return model.apply(params, x, key)

    return model._replace(apply=apply)


def _input_dtype(case: Case) -> str:
    return "int32" if len(case.input_shape) == 1 else "float32"


def theirs(case: Case, data: FederatedData) -> Iterator[float]:
    """Seconds of each round of the PyTorch loop: clients one after another, then the mean of their models."""
    model = case.theirs().train()
    x, y = torch.from_numpy(np.array(data.train.x)), torch.from_numpy(np.array(data.train.y)).long()
    rows = torch.from_numpy(np.array(data.indices)).reshape(case.clients, -1)
    while True:
        started = time.perf_counter()
        start = {name: value.clone() for name, value in model.state_dict().items()}
        total = {name: torch.zeros_like(value) for name, value in start.items()}
        for client in range(case.clients):
            model.load_state_dict(start)
            torch_models.train(model, x, y, rows[client], case.batch, case.steps, case.augmented)
            for name, value in model.state_dict().items():
                total[name] += value / case.clients
        model.load_state_dict(total)
        yield time.perf_counter() - started


def multiply_adds(name: str, case: Case) -> float:
    """Of one training sample, as XLA counts them with its own convolution."""
    model = windowed(name, case)
    key = jax.random.key(0)
    x = jax.ShapeDtypeStruct((case.batch, *case.input_shape), _input_dtype(case))
    y = jax.ShapeDtypeStruct((case.batch,), jnp.int32)
    gradient = jax.jit(jax.grad(lambda params, x, y: model.loss(model.apply(params, x, key), y).mean()))
    costs = gradient.lower(jax.eval_shape(model.init, key), x, y).cost_analysis() or {}
    return costs["flops"] / 2 / case.batch


def measure(name: str, case: Case, repeats: int) -> None:
    """One row of the table."""
    data = random_data(case)
    model = models.build(name, case.input_shape, case.classes)
    timers = {
        "all clients at once": ours(case, data, model, case.clients),
        "one after another": ours(case, data, model, 1),
        "torch": theirs(case, data),
    }
    if name.startswith(("cnn", "resnet")):
        timers["vmap of lax.conv"] = ours(case, data, windowed(name, case), case.clients)
    seconds: dict[str, list[float]] = {label: [] for label in timers}
    for _ in range(repeats + 1):
        for label, timer in timers.items():
            seconds[label].append(next(timer))
    best = {label: min(times[1:]) for label, times in seconds.items()}
    samples = case.clients * case.batch * case.steps
    fastest = min(best["all clients at once"], best["one after another"])
    share = samples * multiply_adds(name, case) / fastest / matmul_limit()
    columns = [f"{name:12}"] + [f"{label}: {samples / value:10,.0f}/s" for label, value in best.items()]
    print("  ".join(columns), f" ratio to torch: {best['torch'] / fastest:.2f}, of the limit: {share:.0%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    quick = [name for name in CASES if name != "resnet18"]
    text = f"of {', '.join(CASES)} (default: all but resnet18, which takes many minutes)"
    parser.add_argument("models", nargs="*", default=quick, help=text)
    parser.add_argument("--repeats", type=int, default=5, help="rounds of each program (default: 5)")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    print(f"{os.cpu_count()} cores, PyTorch {torch.__version__} with {THREADS} threads, JAX {jax.__version__}")
    for name in options.models:
        measure(name, CASES[name], options.repeats)


if __name__ == "__main__":
    main()
