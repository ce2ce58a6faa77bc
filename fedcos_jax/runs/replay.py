"""The draws of the paper's authors, replayed: initial parameters, the shards of each client, the cohort of each round.

Their code seeds NumPy and PyTorch with 111. From NumPy it takes the shards of each client in turn, then the cohort of
each round; from PyTorch the initial parameters. Some numbers of the paper hang on these draws: across devices the
accuracy after a round swings by several points with its cohort, and on totally non-IID clients its level depends on the
initial parameters. NumPy's older generator gives all of it: PyTorch's makes the same words of a seed.
"""

import functools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.data import partition
from fedcos_jax.data.partition import Ownership
from fedcos_jax.errors import require
from fedcos_jax.models import Model
from fedcos_jax.types import Params

DRAWN_ALIKE = ("shards2", "sorted", "natural")
"""Partitions whose clients can be the authors': those with shards, and those with nothing random about them."""
WORDS_BEFORE = {"cifar10": 3}
"""By dataset, what the authors' code draws from PyTorch before its model: it looks at one training image, whose crop
takes two words and whose flip takes one. Nothing where images are not augmented."""


def generator(seed: int) -> np.random.RandomState:
    """What everything is drawn from, in turn."""
    require(0 <= seed < 2**32, f"the seed to replay must be at least 0 and below 2**32, got {seed}")
    return np.random.RandomState(seed)


def ownership(
    generator: np.random.RandomState, name: str, labels: np.ndarray, clients: int, groups: np.ndarray | None = None
) -> Ownership:
    """Who owns which rows; arguments as in `partition.build`."""
    entry, number = partition.parse(name)
    known = [partition.parse(alike)[0] for alike in DRAWN_ALIKE]
    require(entry in known, f"only {', '.join(DRAWN_ALIKE)} can be drawn as by the authors, got partition {name!r}")
    if number is None:
        return partition.build(name, labels, clients, 0, groups)
    return partition.shards(labels, clients, generator, int(number), deal=hands)


def hands(generator: np.random.RandomState, clients: int, per_client: int) -> np.ndarray:
    """The shards of each client, [clients, per_client]: each draws in turn from those that are left.

    What is left stands in the order in which Python goes through a set of whole numbers.
    """
    left = list(range(clients * per_client))
    dealt = []
    for _ in range(clients):
        dealt.append(generator.choice(left, per_client, replace=False))
        left = list(set(left) - set(dealt[-1].tolist()))
    return np.stack(dealt)


def cohorts(generator: np.random.RandomState, clients: int, size: int, rounds: int) -> np.ndarray | None:
    """Who takes part in which round, [rounds, size]; None where all do, as then nothing is drawn."""
    if size == clients:
        return None
    return np.stack([generator.choice(clients, size, replace=False) for _ in range(rounds)])


@functools.lru_cache(maxsize=8)
def started(model: Model, seed: int, words_before: int = 0) -> Model:
    """The model with PyTorch's initial parameters of this seed, whatever the key of the run.

    Args:
        model: of convolutions and dense layers, which PyTorch makes in this order, each its weights, then its biases.
        seed: of PyTorch.
        words_before: drawn from PyTorch before.
    """
    parameters = torch_parameters(jax.eval_shape(model.init, jax.random.key(0)), seed, words_before)
    return model._replace(init=lambda key: jax.tree.map(jnp.asarray, parameters))


def torch_parameters(shapes: Params, seed: int, words_before: int = 0) -> Params:
    """Parameters like these, each uniform in ±1/sqrt(fan_in), as PyTorch draws them."""
    for name in shapes:
        known = re.fullmatch(r"(Conv|Dense)_\d+", name)
        require(known is not None, f"a replay starts models of convolutions and dense layers, not one with {name}")
    words = generator(seed)
    words.randint(2**32, size=words_before, dtype=np.uint32)

    def uniform(shape: tuple[int, ...], fan_in: int) -> np.ndarray:
        unit = (words.randint(2**32, size=shape, dtype=np.uint32) & 0xFFFFFF) / 2**24
        return (2 * unit - 1) / math.sqrt(fan_in)

    parameters, channels = {}, 1
    for name in sorted(shapes):
        *inputs, outputs = shapes[name]["kernel"].shape
        fan_in = math.prod(inputs)
        # PyTorch has outputs first, then channels, then pixels, also where the pixels come flattened to a dense layer.
        *_, channels = inputs if len(inputs) > 1 else (channels,)
        kernel = uniform((outputs, channels, fan_in // channels), fan_in).transpose(2, 1, 0)
        bias = uniform((outputs,), fan_in)
        dtype = shapes[name]["kernel"].dtype
        parameters[name] = {"kernel": kernel.reshape(*inputs, outputs).astype(dtype), "bias": bias.astype(dtype)}
        channels = outputs if len(inputs) > 1 else 1
    return parameters
