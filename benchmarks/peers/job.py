"""The job that every library does, as plain NumPy: data, initial weights and numbers. It needs only NumPy."""

import dataclasses
from typing import NamedTuple

import numpy as np

BATCH, STEPS, RATE, CLASSES, TEST_ROWS = 32, 20, 0.2, 10, 2000
ROWS = BATCH * STEPS
"""Rows per client. Local steps are one epoch of them, so that libraries that count in epochs do the same number."""

Weights = dict[str, np.ndarray]
"""The arrays of each layer: dense kernels [in, out], convolution kernels [height, width, in, out], biases [out]."""

SHAPES: dict[str, tuple[tuple[int, ...], dict[str, tuple[int, ...]]]] = {
    "mlp": ((28, 28), {"dense0": (784, 200), "dense1": (200, CLASSES)}),
    "cnn": (
        (32, 32, 3),
        {
            "conv0": (5, 5, 3, 6),
            "conv1": (5, 5, 6, 16),
            "dense0": (400, 120),
            "dense1": (120, 84),
            "dense2": (84, CLASSES),
        },
    ),
}
"""Per model, the shape of one input and of the kernels of its layers. The MLP drops half of its hidden units, the CNN
none."""


@dataclasses.dataclass(frozen=True)
class Job:
    """FedAvg with all clients in every round, one local epoch of SGD on each."""

    model: str
    clients: int
    rounds: int

    @property
    def name(self) -> str:
        return f"{self.model}-{self.clients}"


JOBS = {job.name: job for job in (Job("mlp", 10, 12), Job("mlp", 100, 6), Job("cnn", 10, 12), Job("cnn", 100, 3))}

NOISE = {"mlp": 3.0, "cnn": 1.5}
"""The deviation of the noise on the patterns. The deviation of the patterns themselves is 1."""


class Data(NamedTuple):
    """Images as bytes, and labels. Client i owns the rows from i · ROWS to (i + 1) · ROWS."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


class Outcome(NamedTuple):
    """What a library did."""

    first_seconds: float
    """From the start of the run to the end of its first round. This includes starting workers and compiling."""
    round_seconds: list[float]
    """Seconds of each round after the first."""
    weights: Weights
    setting: str
    """How the library used the cores."""


def make_data(job: Job, seed: int = 0) -> Data:
    """Noisy coarse patterns, six per class. They can be learnt, but not by a linear model and not in one round."""
    rng = np.random.default_rng(seed)
    side, *channels = SHAPES[job.model][0][1:]
    patterns = rng.normal(size=(6 * CLASSES, side // 4, side // 4, *channels)).repeat(4, axis=1).repeat(4, axis=2)

    def examples(rows: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = rng.integers(len(patterns), size=rows)
        noise = rng.normal(scale=NOISE[job.model], size=(rows, *patterns.shape[1:])).astype(np.float32)
        pixels = 128 + 25 * (patterns[chosen].astype(np.float32) + noise)
        return np.clip(pixels, 0, 255).astype(np.uint8), (chosen % CLASSES).astype(np.int32)

    return Data(*examples(job.clients * ROWS), *examples(TEST_ROWS))


def scaled(x: np.ndarray) -> np.ndarray:
    """Bytes as inputs of the models, in [-1, 1]."""
    return (x.astype(np.float32) / 255 - 0.5) / 0.5


def initial_weights(job: Job, seed: int = 0) -> Weights:
    """Weights drawn uniformly from ±1/sqrt(fan in), which is PyTorch's default."""
    rng = np.random.default_rng(seed)
    weights = {}
    for layer, shape in SHAPES[job.model][1].items():
        bound = np.prod(shape[:-1]) ** -0.5
        weights[f"{layer}/kernel"] = rng.uniform(-bound, bound, shape).astype(np.float32)
        weights[f"{layer}/bias"] = rng.uniform(-bound, bound, shape[-1:]).astype(np.float32)
    return weights
