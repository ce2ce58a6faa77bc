"""Next-character datasets: a sample is a window of characters, and its label is the character behind it.

The writer of a text is a client. The text is stored once, and a sample is the position where its window starts.
Preprocessing cuts the windows of a batch, so that half a million overlapping windows never exist at the same time.
"""

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.errors import InputError
from fedcos_jax.types import Array, Examples

TRAIN_SHARE = 0.8
VOCABULARY = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
"""The 80 characters of LEAF's Shakespeare."""


def symbols(text: str) -> np.ndarray:
    """The characters of a text as indices into the vocabulary, [characters]. Raises InputError if one is not in it."""
    table = np.full(256, len(VOCABULARY), np.uint8)
    table[np.frombuffer(VOCABULARY.encode("latin-1"), np.uint8)] = np.arange(len(VOCABULARY))
    try:
        found = table[np.frombuffer(text.encode("latin-1"), np.uint8)]
    except UnicodeEncodeError as error:
        raise InputError(f"the text has {text[error.start]!r}, which is outside the vocabulary of LEAF") from None
    if int(found.max(initial=0)) == len(VOCABULARY):
        outside = text[int(found.argmax())]
        raise InputError(f"the text has {outside!r}, which is outside the vocabulary of LEAF")
    return found


def as_symbols(x: Array, key: Array | None) -> Array:
    """Preprocessing of stored symbols, which are bytes, for models that read whole numbers."""
    return x.astype(jnp.int32)


def next_character(name: str, text: np.ndarray, offsets: np.ndarray, *, window: int, classes: int) -> Dataset:
    """The dataset of the clients' texts. The last fifth of each text is for testing.

    Args:
        name: name of the dataset.
        text: the texts of all clients, joined, as indices into a vocabulary, [characters].
        offsets: where each client's text begins, and the end of the last one, [clients + 1].
        window: characters per sample.
        classes: characters in the vocabulary.
    """
    counts = np.diff(offsets) - window
    kept = (TRAIN_SHARE * counts).astype(np.int32)
    train = _ranges(offsets[:-1], kept)
    test = _ranges(offsets[:-1] + kept, counts - kept)
    label = text.astype(np.int32)
    return Dataset(
        name=name,
        train=Examples(train, label[train + window]),
        test=Examples(test, label[test + window]),
        classes=classes,
        preprocess=Partial(_windows, jnp.asarray(text), jnp.arange(window, dtype=jnp.int32)),
        groups=np.repeat(np.arange(len(counts), dtype=np.int32), kept),
        test_groups=np.repeat(np.arange(len(counts), dtype=np.int32), counts - kept),
    )


def _windows(text: Array, positions: Array, starts: Array, key: Array | None) -> Array:
    """The characters of the windows that begin at `starts` [rows], as vocabulary indices [rows, window]."""
    return text[starts[:, None] + positions[None, :]].astype(jnp.int32)


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """start, start + 1, ... of each range, joined, [sum of lengths]."""
    before = np.cumsum(lengths) - lengths
    return (np.arange(lengths.sum()) + np.repeat(starts - before, lengths)).astype(np.int32)
