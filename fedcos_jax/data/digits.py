"""scikit-learn's digits: 1,797 real handwritten digits of 8x8 pixels. They come with its wheel and need no files."""

import numpy as np

from fedcos_jax.data.dataset import Dataset, scaled
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.errors import require
from fedcos_jax.types import Examples

CLASSES = 10
TRAIN_ROWS, TEST_ROWS = 1437, 360
SIDE, LARGEST_SIDE = 8, 64


def load(side: int = SIDE) -> Dataset:
    """The digits. A fifth of them is for testing, always the same fifth. Larger images repeat pixels.

    Args:
        side: height and width of an image, 8 to 64.
    """
    require(SIDE <= side <= LARGEST_SIDE, f"digits have {SIDE} to {LARGEST_SIDE} pixels per side, got {side}")
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
        classes=CLASSES,
        preprocess=scaled(16.0, 0.5, 0.5),
    )


ENTRY = DatasetEntry(
    summary="1,797 handwritten digits, 8x8; embedded; digits(side) for larger images",
    rows=(TRAIN_ROWS, TEST_ROWS),
    shape=(SIDE, SIDE),
    build=load,
    numbers=(int,),
    example="digits(16)",
)
