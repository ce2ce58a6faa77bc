"""What the samples of LEAF's datasets are: images, numbers, characters or tweets, as lists of JSON."""

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.data.dataset import MOST_CLASSES, Preprocess, as_stored, scaled
from fedcos_jax.data.text import VOCABULARY, as_symbols, symbols
from fedcos_jax.errors import InputError, require
from fedcos_jax.types import Array

IMAGE_SIDE = 28
WORDS, BUCKETS = 40, 2048
"""Words kept of a tweet, and the numbers that a word can have."""


class LeafKind(NamedTuple):
    """How to read the samples of one kind of LEAF data."""

    name: str
    inputs: Callable[[list], np.ndarray]
    """(the x of a user) -> stored inputs [rows, ...]."""
    labels: Callable[[list], np.ndarray]
    """(the y of a user) -> labels [rows], whole numbers from 0."""
    preprocess: Preprocess
    """(stored inputs, key) -> model inputs."""
    classes: int | None = None
    """None for as many as there are labels."""
    in_order: bool = False
    """Whether the rows of a user are in the order of time, so that only the last ones may be for testing."""


def detect(x: Any, y: Any) -> LeafKind:
    """The kind of data whose first sample is (x, y)."""
    if isinstance(x, str) and isinstance(y, str):
        return KINDS["shakespeare"]
    if isinstance(x, list) and x and all(isinstance(part, str) for part in x) and isinstance(y, int | float):
        return KINDS["sent140"]
    if isinstance(x, list) and x and all(isinstance(part, int | float) for part in x):
        unit = all(0 <= part <= 1 for part in x)
        return KINDS["femnist" if unit and len(x) == IMAGE_SIDE**2 else "numbers"]
    known = ", ".join(KINDS)
    raise InputError(f"what x is cannot be told from {str(x)[:40]!r}: say the kind, one of {known} or one of your own")


def _numbers(values: list) -> np.ndarray:
    """Rows of numbers [rows, ...], finite and equally long. 784 numbers are an image of 28x28."""
    try:
        x = np.asarray(values, np.float32)
    except (ValueError, TypeError):
        raise InputError("x must be lists of numbers of equal length") from None
    require(bool(np.isfinite(x).all()), "x has numbers that are not finite")
    return x.reshape(len(x), IMAGE_SIDE, IMAGE_SIDE) if x.shape[1:] == (IMAGE_SIDE**2,) else x


def _bytes(values: list) -> np.ndarray:
    """Images [rows, 28, 28] of the bytes k, which LEAF stores as k / 255."""
    x = _numbers(values)
    require(x.shape[1:] == (IMAGE_SIDE, IMAGE_SIDE), f"x must be images of 784 numbers, got the shape {x.shape[1:]}")
    good = x.min() >= 0 and x.max() <= 1
    require(bool(good), f"pixels are {x.min():g} to {x.max():g} instead of 0 to 1: say kind='numbers' to keep them")
    return np.rint(x * 255).astype(np.uint8)


def _classes(values: list, classes: int = MOST_CLASSES) -> np.ndarray:
    """Labels [rows], whole numbers below the number of classes."""
    try:
        y = np.asarray(values)
    except ValueError:
        raise InputError("y must be one whole number per sample") from None
    good = y.ndim == 1 and y.dtype.kind in "iuf" and bool((y == np.rint(y)).all())
    require(good, f"y must be one whole number per sample, got {str(values[0])[:40]!r}")
    require(bool(y.min() >= 0 and y.max() < classes), f"y is {y.min()} to {y.max()}, outside 0..{classes - 1}")
    return y.astype(np.int32)


def _femnist_classes(values: list) -> np.ndarray:
    return _classes(values, 62)


def _windows(values: list) -> np.ndarray:
    """Windows of characters as indices into the vocabulary, [rows, characters]."""
    texts = all(isinstance(value, str) and value for value in values)
    require(texts and len(set(map(len, values))) == 1, "x must be texts of equal length")
    return symbols("".join(values)).reshape(len(values), -1)


def _next_characters(values: list) -> np.ndarray:
    """The index of each next character, [rows]."""
    require(all(isinstance(value, str) and len(value) == 1 for value in values), "y must be single characters")
    return symbols("".join(values))


def _tweets(values: list) -> np.ndarray:
    """The numbers of the words of each tweet, [rows, words]. A tweet is the last of the strings of its sample."""
    texts = [value[-1] if isinstance(value, list) and value else value for value in values]
    require(all(isinstance(text, str) for text in texts), "x must be texts, or lists whose last entry is the text")
    return np.array([word_numbers(text) for text in texts], np.uint16)


def word_numbers(text: str) -> Sequence[int]:
    """The numbers of the first 40 words of a text, filled up with 2048, which counts as no word.

    Words are in small letters, and . , ! ? ; are words of their own. The number of a word is its CRC-32, modulo 2048.
    """
    words = re.findall(r"[\w']+|[.,!?;]", text.lower())[:WORDS]
    return [zlib.crc32(word.encode()) % BUCKETS for word in words] + [BUCKETS] * (WORDS - len(words))


def _sentiments(values: list) -> np.ndarray:
    """0 for a negative tweet and 1 for a positive one, [rows]. Some publish the positive ones as 4."""
    y = _classes(values, 5)
    require(bool(np.isin(y, (0, 1, 4)).all()), "y must be 0 for negative and 1 or 4 for positive tweets")
    return (y > 0).astype(np.int32)


def _unit_pixels(x: Array, key: Array | None) -> Array:
    """Pixels in [0, 1], as LEAF has them. The numbers are made here, because an import must not start JAX."""
    return scaled(255.0, 0.0, 1.0)(x, key)


def _bags(x: Array, key: Array | None) -> Array:
    """How often each word occurs, [rows, 2048], from word numbers [rows, words]."""
    rows = jnp.arange(x.shape[0], dtype=jnp.int32)[:, None]
    return jnp.zeros((x.shape[0], BUCKETS)).at[rows, x.astype(jnp.int32)].add(1, mode="drop")


KINDS: dict[str, LeafKind] = {
    kind.name: kind
    for kind in (
        LeafKind("femnist", _bytes, _femnist_classes, Partial(_unit_pixels), classes=62),
        LeafKind(
            "shakespeare", _windows, _next_characters, Partial(as_symbols), classes=len(VOCABULARY), in_order=True
        ),
        LeafKind("sent140", _tweets, _sentiments, Partial(_bags), classes=2, in_order=True),
        LeafKind("numbers", _numbers, _classes, Partial(as_stored)),
    )
}
