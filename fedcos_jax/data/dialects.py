"""Generated text for use offline: every client writes its own dialect of one language.

The language is a Markov chain over twelve characters: a few likely successors of each character. A dialect keeps the
successors of some characters and draws its own for the others, so that clients agree on part of the text only.
"""

import numpy as np

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.text import next_character
from fedcos_jax.errors import require

VOCABULARY = " aeinorst,.\n"
WINDOW = 5
CONCENTRATION = 0.15
"""Of the Dirichlet distribution behind the successors of a character: the smaller, the more predictable."""
OWN_SHARE = 0.5
"""Chance that a dialect has its own successors of a character."""
SHORTEST, LONGEST = 100, 300
"""Characters a client has to say besides one window."""
LARGEST_POPULATION, LARGEST_WINDOW = 10_000, 1000


def dialects(clients: int = 143, window: int = WINDOW, seed: int = 0) -> Dataset:
    """The dataset, with its own clients.

    Args:
        clients: their number.
        window: characters of a sample.
        seed: of everything.
    """
    require(1 <= clients <= LARGEST_POPULATION, f"clients must lie in 1..{LARGEST_POPULATION}, got {clients}")
    require(1 <= window <= LARGEST_WINDOW, f"the window must lie in 1..{LARGEST_WINDOW}, got {window}")
    rng = np.random.default_rng(seed)
    lengths = window + rng.integers(SHORTEST, LONGEST, clients, endpoint=True)
    written = write(successors(clients, rng), int(lengths.max()), rng)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    texts = np.concatenate([line[:length] for line, length in zip(written, lengths, strict=True)])
    name = f"dialects({clients},{window})"
    return next_character(name, texts, offsets, window=window, classes=len(VOCABULARY))


def successors(clients: int, rng: np.random.Generator) -> np.ndarray:
    """P(next | character) of each client, [clients, characters, characters]."""
    characters = len(VOCABULARY)
    concentration = np.full(characters, CONCENTRATION)
    common = rng.dirichlet(concentration, characters)
    own = rng.dirichlet(concentration, (clients, characters))
    differs = rng.random((clients, characters)) < OWN_SHARE
    return np.where(differs[..., None], own, common)


def write(chances: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """So many characters of each client's chain from a random start, [clients, length]."""
    clients, characters, _ = chances.shape
    cumulative = np.cumsum(chances, axis=-1)
    written = np.empty((clients, length), np.uint8)
    written[:, 0] = rng.integers(characters, size=clients)
    for i in range(1, length):
        reached = cumulative[np.arange(clients), written[:, i - 1]] < rng.random((clients, 1))
        written[:, i] = np.minimum(reached.sum(axis=-1), characters - 1)
    return written
