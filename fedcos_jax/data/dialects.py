"""Generated text that needs no files: every client writes its own dialect of one language.

The language is a Markov chain over twelve characters. Each character has a few likely successors. A dialect keeps the
successors of some characters and draws its own for the others, so that clients agree on part of the text only.
"""

import numpy as np

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.text import next_character
from fedcos_jax.errors import require

VOCABULARY = " aeinorst,.\n"
CLIENTS, WINDOW = 143, 5
"""The defaults. 143 clients are as many as the roles of Shakespeare in the paper."""
CONCENTRATION = 0.15
"""Of the Dirichlet distribution of a character's successors. A smaller number makes the text more predictable."""
OWN_SHARE = 0.5
"""Probability that a dialect has its own successors of a character."""
SHORTEST, LONGEST = 100, 300
"""Samples per client. Its text is one window longer."""
LARGEST_POPULATION, LARGEST_WINDOW = 10_000, 1000


def generate(clients: int = CLIENTS, window: int = WINDOW, seed: int = 0) -> Dataset:
    """The dataset of all dialects. Each client has its own.

    Args:
        clients: number of clients.
        window: characters per sample.
        seed: decides everything random.
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
    """Text of each client's chain from a random first character, [clients, length] indices into the vocabulary.

    Args:
        chances: P(next | character) of each client, [clients, characters, characters].
        length: characters per client.
        rng: the source of everything random.
    """
    clients, characters, _ = chances.shape
    cumulative = np.cumsum(chances, axis=-1)
    written = np.empty((clients, length), np.uint8)
    written[:, 0] = rng.integers(characters, size=clients)
    for i in range(1, length):
        reached = cumulative[np.arange(clients), written[:, i - 1]] < rng.random((clients, 1))
        written[:, i] = np.minimum(reached.sum(axis=-1), characters - 1)
    return written


ENTRY = DatasetEntry(
    summary="generated text, the next character: dialects([clients[,window]]); natural clients",
    rows=None,
    shape=(WINDOW,),
    build=generate,
    numbers=(int, int),
    example=f"dialects({CLIENTS},{WINDOW})",
)
