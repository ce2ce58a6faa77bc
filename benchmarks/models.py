"""Training speed of every model against a plain PyTorch loop over the same clients, the way the paper was run.

`make bench-models` (an environment of its own, with PyTorch). Whole local steps on both sides, in one process, the
programs taking turns: data access, augmentation, dropout, forward, backward, update. PyTorch has 2 threads, we have one
XLA device for each core.

Printed: training samples/s of our program as it runs by default, on one device, and on one device with all clients in
one `vmap`; of the PyTorch loop; and of `vmap` over clients of XLA's own convolution. Then the ratios of the default to
PyTorch and to that `vmap`, the share of this machine's matrix-product limit that the model's own multiplications make
up, and what the compiled round takes of a device's memory besides its arguments.
"""

import argparse
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
from benchmarks.workload import compile_round, matmul_limit, random_dataset, rounds, take_turns
from fedcos_jax import Schedule, fedavg, federate, models
from fedcos_jax.engine import devices
from fedcos_jax.data import partition
from fedcos_jax.engine.compilation import program_memory
from fedcos_jax.ops import conv
from fedcos_jax.types import FederatedData

THREADS = 2


class Case(NamedTuple):
    """A model in the scene the paper uses it in."""

    model: str
    input_shape: tuple[int, ...]
    classes: int
    clients: int
    batch: int
    steps: int
    theirs: Callable[[], torch.nn.Module]
    augmented: bool = False


CASES = {
    "mlp": Case("mlp", (28, 28), 10, 7, 128, 100, torch_models.mlp),
    "cnn": Case("cnn", (32, 32, 3), 10, 10, 128, 20, torch_models.cnn, augmented=True),
    "cnn-5": Case("cnn", (32, 32, 3), 10, 5, 128, 20, torch_models.cnn, augmented=True),
    "cnn_fmnist": Case("cnn_fmnist", (28, 28), 10, 10, 64, 20, torch_models.cnn_fmnist),
    "lstm": Case("lstm", (80,), 80, 14, 10, 10, torch_models.LSTM),
    "resnet18": Case("resnet18", (32, 32, 3), 100, 4, 64, 1, lambda: torch_models.resnet18(64, 100), augmented=True),
}
"""Clients of a round: 7, 5 and 4 (of 5) hold the whole dataset, 10 and 14 are a tenth of the population."""


def random_data(case: Case, rows_a_client: int = 1000) -> FederatedData:
    """Random inputs and labels, shared out evenly."""
    rows = case.clients * rows_a_client
    dataset = random_dataset(case.input_shape, case.classes, rows, 10, augmented=case.augmented)
    return federate(dataset, partition.build("iid", dataset.train.y, case.clients, 0))


def ours(case: Case, data: FederatedData, model: models.Model, **shape: int) -> Iterator[float]:
    """Seconds of each of our rounds."""
    return rounds(fedavg(), data, model, local_steps=case.steps, batch_size=case.batch, **shape)


def memory(case: Case, data: FederatedData, model: models.Model) -> int:
    """Bytes of a device that a round takes besides its arguments, as compiled."""
    schedule = Schedule(rounds=1, local_steps=case.steps, batch_size=case.batch)
    taken = program_memory(compile_round(fedavg(), data, model, schedule)[0])
    assert taken is not None, "XLA gives no memory analysis here"
    return taken.temporaries


def windowed(case: Case) -> models.Model:
    """The model on XLA's own convolution: another object, so that it is traced anew."""
    module = models.MODELS[case.model].module(case.classes)
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


def multiply_adds(case: Case) -> float:
    """Of one training sample, as XLA counts them with its own convolution; it takes a loop's body once."""
    model = windowed(case)
    key = jax.random.key(0)
    if case.model == "lstm":
        # Each weight of a cell multiplies in every step forwards, for its own gradient and for that of its input.
        sizes = {jax.tree_util.keystr(path): leaf.size for path, leaf in jax.tree.leaves_with_path(model.init(key))}
        in_cells = sum(size for name, size in sizes.items() if "kernel_" in name)
        return 3 * (case.input_shape[0] * in_cells + sizes["['Dense_0']['kernel']"])
    x = jax.ShapeDtypeStruct((case.batch, *case.input_shape), _input_dtype(case))
    y = jax.ShapeDtypeStruct((case.batch,), jnp.int32)
    gradient = jax.jit(jax.grad(lambda params, x, y: model.loss(model.apply(params, x, key), y).mean()))
    costs = gradient.lower(jax.eval_shape(model.init, key), x, y).cost_analysis() or {}
    return costs["flops"] / 2 / case.batch


def measure(name: str, case: Case, repeats: int) -> None:
    """One row of the table."""
    data = random_data(case)
    model = models.build(case.model, case.input_shape, case.classes)
    timers = {
        "default": ours(case, data, model),
        "one device": ours(case, data, model, devices=1),
        "one vmap": ours(case, data, model, devices=1, chunk=case.clients),
        "torch": theirs(case, data),
    }
    steps = dict.fromkeys(timers, case.steps)
    if case.model == "resnet18":
        del timers["one vmap"]
    elif case.model.startswith("cnn"):
        # So slow that few steps tell enough.
        few = case._replace(steps=2)
        steps["vmap of lax.conv"] = few.steps
        timers["vmap of lax.conv"] = ours(few, data, windowed(case), devices=1, chunk=case.clients)
    seconds = take_turns(timers, repeats)
    speeds = {label: case.clients * case.batch * steps[label] / min(times) for label, times in seconds.items()}
    report(name, case, speeds, memory(case, data, model))


def report(name: str, case: Case, speeds: dict[str, float], memory: int) -> None:
    ours = speeds["default"]
    ratios = [f"{ours / speeds[label]:.2f} x {label}" for label in ("torch", "vmap of lax.conv") if label in speeds]
    share = ours * multiply_adds(case) / matmul_limit()
    print(f"{name}: {', '.join(f'{label} {speed:,.0f}/s' for label, speed in speeds.items())}")
    print(f"    {', '.join(ratios)}; {share:.0%} of the limit; {memory / 1e6:,.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of each program (default: 5)")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    devices.use_all_cores()
    print(f"{os.cpu_count()} cores, PyTorch {torch.__version__} with {THREADS} threads, JAX {jax.__version__}")
    for name in options.cases:
        measure(name, CASES[name], options.repeats)


if __name__ == "__main__":
    main()
