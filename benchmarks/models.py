"""Training speed of every model against a plain PyTorch loop over the same clients, the way the paper was run.

`make bench-models` (an environment of its own, with PyTorch). Both sides take whole local steps in one process, in
turns: data access, augmentation, dropout, forward, backward, update. PyTorch has 2 threads, we have one XLA device per
core.

The first line of a model has training samples/s: of our program as it runs by default, on one device, and on one device
with all clients in one `vmap`; of the PyTorch loop; and of a `vmap` over clients of XLA's own convolution. The second
line has the ratios of the default to PyTorch and to that `vmap`, the share of this machine's matrix-product limit that
the model's own multiplications make up, and the memory of a device that the compiled round takes besides its arguments.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import torch

from benchmarks import torch_models
from benchmarks.scenes import SCENES, Scene, divided
from benchmarks.workload import compile_round, experiment, matmul_limit, rounds, take_turns
from fedcos_jax import Experiment, FederatedData, Model, devices, fedavg, losses, models
from fedcos_jax.engine.compilation import program_memory
from fedcos_jax.ops import conv

THREADS = 2


class Case(NamedTuple):
    """A model as the paper trains it."""

    scene: Scene
    clients: int
    steps: int
    theirs: Callable[[], torch.nn.Module]


CASES = {
    "mlp": Case(SCENES["mlp"], 7, 100, torch_models.mlp),
    "cnn": Case(SCENES["cnn"], 10, 20, torch_models.cnn),
    "cnn-5": Case(SCENES["cnn"], 5, 20, torch_models.cnn),
    "cnn_fmnist": Case(SCENES["cnn_fmnist"], 10, 20, torch_models.cnn_fmnist),
    "lstm": Case(SCENES["lstm"], 14, 10, torch_models.LSTM),
    "resnet18": Case(SCENES["resnet18"], 4, 1, lambda: torch_models.resnet18(64, 100)),
}
"""Clients per round: 7, 5 and 4 (of 5) hold the whole dataset, 10 and 14 are a tenth of the population."""


def random_data(case: Case, rows_per_client: int = 1000) -> FederatedData:
    """Random inputs and labels, divided evenly."""
    return divided(case.scene.random_dataset(case.clients * rows_per_client, 10), "iid", case.clients)


def ours(case: Case, data: FederatedData, model: Model, **shape: Any) -> Experiment:
    """The case as an experiment of ours."""
    return experiment(fedavg(), data, model, local_steps=case.steps, batch_size=case.scene.batch, **shape)


def memory(case: Case, data: FederatedData, model: Model) -> int:
    """Bytes of a device that a compiled round takes besides its arguments."""
    taken = program_memory(compile_round(ours(case, data, model))[0])
    assert taken is not None, "XLA gives no memory analysis here"
    return taken.temporaries


def windowed(scene: Scene) -> Model:
    """The model on XLA's own convolution. It is another object, so that it is traced anew."""
    module = models.MODELS[scene.model].module(scene.classes)
    model = models.from_flax(module, scene.input_shape, scene.input_dtype, fast_layers=False)

    def apply(params, x, key):
        with mock.patch.object(conv, "conv_pool", conv.window_conv):
            return model.apply(params, x, key)

    return model._replace(apply=apply)


def theirs(case: Case, data: FederatedData) -> Iterator[float]:
    """Seconds of each round of the PyTorch loop: it trains one client after another, then averages their models."""
    model = case.theirs().train()
    x, y = torch.from_numpy(np.array(data.train.x)), torch.from_numpy(np.array(data.train.y)).long()
    rows = torch.from_numpy(np.array(data.indices)).reshape(case.clients, -1)
    while True:
        started = time.perf_counter()
        start = {name: value.clone() for name, value in model.state_dict().items()}
        total = {name: torch.zeros_like(value) for name, value in start.items()}
        for client in range(case.clients):
            model.load_state_dict(start)
            torch_models.train(model, x, y, rows[client], case.scene.batch, case.steps, case.scene.augmented)
            for name, value in model.state_dict().items():
                total[name] += value / case.clients
        model.load_state_dict(total)
        yield time.perf_counter() - started


def multiply_adds(scene: Scene) -> float:
    """Multiply-adds per training sample, as XLA counts them with its own convolution. It counts a loop's body once."""
    model = windowed(scene)
    key = jax.random.key(0)
    if scene.model == "lstm":
        # Each weight of a cell multiplies three times per step: forwards, for its own gradient, and for its input's.
        sizes = {jax.tree_util.keystr(path): leaf.size for path, leaf in jax.tree.leaves_with_path(model.init(key))}
        in_cells = sum(size for name, size in sizes.items() if "kernel_" in name)
        return 3 * (scene.input_shape[0] * in_cells + sizes["['Dense_0']['kernel']"])
    x = jax.ShapeDtypeStruct((scene.batch, *scene.input_shape), scene.input_dtype)
    y = jax.ShapeDtypeStruct((scene.batch,), jnp.int32)
    every = jnp.ones(scene.batch, bool)
    gradient = jax.jit(jax.grad(lambda params, x, y: losses.mean(model.loss(model.apply(params, x, key), y), every)))
    costs = gradient.lower(jax.eval_shape(model.init, key), x, y).cost_analysis() or {}
    return costs["flops"] / 2 / scene.batch


def measure(name: str, case: Case, repeats: int) -> None:
    """One row of the table."""
    data = random_data(case)
    model = case.scene.build()
    one = devices.available(1)
    experiments = {
        "default": ours(case, data, model),
        "one device": ours(case, data, model, placement=one),
        "one vmap": ours(case, data, model, placement=one, chunk=case.clients),
    }
    timers = {label: rounds(each) for label, each in experiments.items()} | {"torch": theirs(case, data)}
    steps = dict.fromkeys(timers, case.steps)
    if case.scene.model == "resnet18":
        del timers["one vmap"]
    elif case.scene.model.startswith("cnn"):
        # It is so slow that few steps tell enough.
        few = case._replace(steps=2)
        steps["vmap of lax.conv"] = few.steps
        slow = ours(few, data, windowed(case.scene), placement=one, chunk=case.clients)
        timers["vmap of lax.conv"] = rounds(slow)
    seconds = take_turns(timers, repeats)
    speeds = {label: case.clients * case.scene.batch * steps[label] / min(times) for label, times in seconds.items()}
    report(name, case.scene, speeds, memory(case, data, model))


def report(name: str, scene: Scene, speeds: dict[str, float], memory: int) -> None:
    ours = speeds["default"]
    ratios = [f"{ours / speeds[label]:.2f} x {label}" for label in ("torch", "vmap of lax.conv") if label in speeds]
    share = ours * multiply_adds(scene) / matmul_limit()
    print(f"{name}: {', '.join(f'{label} {speed:,.0f}/s' for label, speed in speeds.items())}")
    print(f"    {', '.join(ratios)}; {share:.0%} of the limit; {memory / 1e6:,.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"any of {', '.join(CASES)} (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of each program (default: 5)")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    devices.use_all_cores()
    print(f"{os.cpu_count()} cores, PyTorch {torch.__version__} with {THREADS} threads, JAX {jax.__version__}")
    for name in options.cases:
        measure(name, CASES[name], options.repeats)


if __name__ == "__main__":
    main()
