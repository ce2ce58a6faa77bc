"""scikit-learn's digits: 1,797 real handwritten digits of 8x8 pixels inside a wheel, for use offline."""

import numpy as np

from fedcos_jax.data.dataset import Dataset, scaled
from fedcos_jax.errors import require
from fedcos_jax.types import Examples

TEST_ROWS = 360
SIDE, LARGEST_SIDE = 8, 64


def load(side: int = SIDE) -> Dataset:
    """The digits, a fifth of them (always the same) for testing; larger ones repeat pixels.

    Args:
        side: height and width of an image.
    """
    require(SIDE <= side <= LARGEST_SIDE, f"digits have {SIDE} to {LARGEST_SIDE} pixels a side, got {side}")
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    source = np.arange(side) * SIDE // side
    images = pixels.reshape(-1, SIDE, SIDE).astype(np.uint8)[:, source[:, None], source[None, :]]
    labels = labels.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:TEST_ROWS], order[TEST_ROWS:]
    return Dataset(
        name="digits" if side == SIDE else f"digits({side})",
        train=Examples(images[train], labels[train]),
        test=Examples(images[test], labels[test]),
        classes=10,
        preprocess=scaled(16.0, 0.5, 0.5),
    )
