"""The draws of the paper's authors, replayed: initial parameters, the shards of each client, the cohort of each round.

Their code seeds NumPy and PyTorch with 111. It draws the shards of each client and then the cohort of each round from
NumPy, and the initial parameters from PyTorch. Some numbers of the paper depend on these draws. In the cross-device
setting, the accuracy after a round swings by several points with its cohort. On totally non-IID clients, its level
depends on the initial parameters. NumPy's older generator gives all these draws, because PyTorch's generator makes the
same words from a seed.
"""

import functools
import math
import re

import jax
import numpy as np

from fedcos_jax.data import partition
from fedcos_jax.data.partition import Ownership
from fedcos_jax.errors import require
from fedcos_jax.models import Model, started_from
from fedcos_jax.types import Params

DRAWN_ALIKE = ("shards2", "sorted", "natural")
"""The partitions that can be drawn as the authors drew them: those by shards, and those with nothing random."""
WORDS_BEFORE = {"cifar10": 3}
"""Per dataset, how many words the authors' code draws from PyTorch before its model. It looks at one training image.
Its crop takes two words, and its flip takes one. A dataset without augmentation takes none."""


def generator(seed: int) -> np.random.RandomState:
    """The generator of all draws, which come from it in turn."""
    require(0 <= seed < 2**32, f"the seed to replay must be at least 0 and below 2**32, got {seed}")
    return np.random.RandomState(seed)


def ownership(
    generator: np.random.RandomState,
    name: str,
    labels: np.ndarray,
    clients: int | None,
    groups: np.ndarray | None = None,
) -> Ownership:
    """Who owns which rows. Arguments are as in `partition.build`."""
    entry, number = partition.parse(name)
    known = [partition.parse(alike)[0] for alike in DRAWN_ALIKE]
    require(entry in known, f"only {', '.join(DRAWN_ALIKE)} can be drawn as by the authors, got partition {name!r}")
    if number is None or clients is None:
        return partition.build(name, labels, clients, 0, groups)
    return partition.shards(labels, clients, generator, int(number), deal=hands)


def hands(generator: np.random.RandomState, clients: int, per_client: int) -> np.ndarray:
    """The shards of each client, [clients, per_client]. Each client in turn draws from those that are left.

    The shards that are left are in the order in which Python goes through a set of whole numbers.
    """
    left = list(range(clients * per_client))
    dealt = []
    for _ in range(clients):
        dealt.append(generator.choice(left, per_client, replace=False))
        left = list(set(left) - set(dealt[-1].tolist()))
    return np.stack(dealt)


def cohorts(generator: np.random.RandomState, clients: int, size: int, rounds: int) -> np.ndarray | None:
    """The clients of each round, [rounds, size]. None if all take part, because then nothing is drawn."""
    if size == clients:
        return None
    return np.stack([generator.choice(clients, size, replace=False) for _ in range(rounds)])


@functools.lru_cache(maxsize=8)
def started(model: Model, seed: int, words_before: int = 0) -> Model:
    """The model with the initial parameters that PyTorch draws from this seed. The key of the run does not matter.

    Args:
        model: a model of convolutions and dense layers. PyTorch makes them in this order, and draws the weights of each
            before its biases.
        seed: the seed of PyTorch.
        words_before: how many words are drawn from PyTorch before the model.
    """
    parameters = torch_parameters(jax.eval_shape(model.init, jax.random.key(0)), seed, words_before)
    return started_from(model, parameters)


def torch_parameters(shapes: Params, seed: int, words_before: int = 0) -> Params:
    """Parameters of these shapes, each uniform in ±1/sqrt(fan_in), as PyTorch draws them."""
    for name in shapes:
        known = re.fullmatch(r"(Conv|Dense)_\d+", name)
        require(known is not None, f"a replay needs a model of convolutions and dense layers, not one with {name}")
    words = generator(seed)
    words.randint(2**32, size=words_before, dtype=np.uint32)

    def uniform(shape: tuple[int, ...], fan_in: int) -> np.ndarray:
        unit = (words.randint(2**32, size=shape, dtype=np.uint32) & 0xFFFFFF) / 2**24
        return (2 * unit - 1) / math.sqrt(fan_in)

    parameters, channels = {}, 1
    for name in sorted(shapes):
        *inputs, outputs = shapes[name]["kernel"].shape
        fan_in = math.prod(inputs)
        # PyTorch has outputs first, then channels, then pixels, even if a dense layer gets the pixels flattened.
        *_, channels = inputs if len(inputs) > 1 else (channels,)
        kernel = uniform((outputs, channels, fan_in // channels), fan_in).transpose(2, 1, 0)
        bias = uniform((outputs,), fan_in)
        dtype = shapes[name]["kernel"].dtype
        parameters[name] = {"kernel": kernel.reshape(*inputs, outputs).astype(dtype), "bias": bias.astype(dtype)}
        channels = outputs if len(inputs) > 1 else 1
    return parameters
