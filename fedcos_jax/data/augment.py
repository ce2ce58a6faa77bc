"""Random crops and flips of image batches, on the device, inside the compiled step."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax.tree_util import Partial

from fedcos_jax.data.dataset import scaled
from fedcos_jax.types import Array

PAD = 4
"""Black pixels around an image before it is cropped to its own size again."""
_BITS = 15


def crop_and_flip(mean: Sequence[float], deviation: Sequence[float]) -> Callable[[Array, Array | None], Array]:
    """Preprocessing of byte images: a random crop and a random flip where there is a key, then normalisation.

    Args:
        mean: of each channel, of pixels in [0, 1].
        deviation: likewise.
    """
    return Partial(_augment, normalised(mean, deviation))


def normalised(mean: Sequence[float], deviation: Sequence[float]) -> Callable[[Array, Array | None], Array]:
    """Preprocessing of byte images: (x/255 - mean) / deviation in each channel."""
    channels = (1, 1, 1, len(mean))
    return scaled(255.0, jnp.reshape(jnp.asarray(mean), channels), jnp.reshape(jnp.asarray(deviation), channels))


def _augment(normalise: Callable[[Array, Array | None], Array], x: Array, key: Array | None) -> Array:
    return normalise(x if key is None else random_crops(x, key), None)


def random_crops(x: Array, key: Array) -> Array:
    """Each image shifted by up to PAD pixels either way, black where it has moved away, and mirrored half the time.

    One gather of bytes with computed rows and columns: slicing a padded copy of each image costs a CPU ten to
    thirty times as much, because the slices are taken one after another.

    Args:
        x: [batch, height, width, channels].
        key: of the batch.
    """
    batch, height, width, _ = x.shape
    down, right, mirror = _draws(key, batch)
    rows = jnp.arange(height)[None, :] + down[:, None]
    columns = jnp.arange(width)[None, :]
    columns = jnp.where(mirror[:, None], width - 1 - columns, columns) + right[:, None]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    images = jnp.arange(batch)[:, None, None]
    moved = x[images, jnp.clip(rows, 0, height - 1)[:, :, None], jnp.clip(columns, 0, width - 1)[:, None, :]]
    return jnp.where(inside[..., None], moved, 0)


def _draws(key: Array, batch: int) -> tuple[Array, Array, Array]:
    """Shifts in -PAD..PAD and a coin for each image, all of one random word: 15 bits a shift are even to 1 in 3,000."""
    words = jax.random.bits(key, (batch,), jnp.uint32)
    shift = lambda bits: ((bits & (2**_BITS - 1)) * (2 * PAD + 1) >> _BITS).astype(jnp.int32) - PAD  # noqa: E731
    return shift(words), shift(words >> _BITS), words >> (2 * _BITS) & 1 == 1
