"""Random crops and flips of image batches, on the device, inside the compiled step."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from fedcos_jax.data.dataset import Preprocess, scaled
from fedcos_jax.types import Array

PAD = 4
"""Black pixels around an image before it is cropped to its own size again."""
_BITS = 15
"""Random bits per shift. They make the shifts equally likely to 1 in 3,000."""


def crop_and_flip(mean: Sequence[float], deviation: Sequence[float]) -> Preprocess:
    """Preprocessing of byte images: a random crop and a random flip if there is a key, then normalisation.

    Args:
        mean: mean of each channel, [channels], of pixels in [0, 1].
        deviation: standard deviation of each channel, [channels].
    """
    return Partial(_augment, normalised(mean, deviation))


def normalised(mean: Sequence[float], deviation: Sequence[float]) -> Preprocess:
    """Preprocessing of byte images: (x / 255 - mean) / deviation per channel."""
    channels = (1, 1, 1, len(mean))
    return scaled(255.0, jnp.reshape(jnp.asarray(mean), channels), jnp.reshape(jnp.asarray(deviation), channels))


def _augment(normalise: Preprocess, x: Array, key: Array | None) -> Array:
    return normalise(x if key is None else random_crops(x, key), None)


def random_crops(x: Array, key: Array) -> Array:
    """Shifts each image by up to PAD pixels in both directions, fills it up with black and mirrors half the images.

    It is one gather of bytes with computed rows and columns. Slices of padded images would be taken one after another,
    which costs a CPU ten to thirty times as much.

    Args:
        x: [batch, height, width, channels].
        key: the key of the batch.

    Returns:
        [batch, height, width, channels], in the dtype of `x`.
    """
    batch, height, width, _ = x.shape
    down, right, mirror = draw_moves(key, batch)
    rows = jnp.arange(height, dtype=jnp.int32)[None, :] + down[:, None]
    columns = jnp.arange(width, dtype=jnp.int32)[None, :]
    columns = jnp.where(mirror[:, None], width - 1 - columns, columns) + right[:, None]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    images = jnp.arange(batch)[:, None, None]
    moved = x[images, jnp.clip(rows, 0, height - 1)[:, :, None], jnp.clip(columns, 0, width - 1)[:, None, :]]
    return jnp.where(inside[..., None], moved, 0)


def draw_moves(key: Array, batch: int) -> tuple[Array, Array, Array]:
    """Shifts down and right in -PAD..PAD and whether to mirror, [batch] each, from one random word per image."""
    words = jax.random.bits(key, (batch,), jnp.uint32)
    shift = lambda bits: ((bits & (2**_BITS - 1)) * (2 * PAD + 1) >> _BITS).astype(jnp.int32) - PAD  # noqa: E731
    return shift(words), shift(words >> _BITS), words >> (2 * _BITS) & 1 == 1
