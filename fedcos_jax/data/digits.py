"""scikit-learn's digits: 1,797 real handwritten digits of 8x8 pixels inside a wheel, for use offline."""

import numpy as np

from fedcos_jax.data.dataset import Dataset, scaled
from fedcos_jax.types import Examples

TEST_ROWS = 360


def load() -> Dataset:
    """The digits, a fifth of them (always the same) for testing."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    images = pixels.reshape(-1, 8, 8).astype(np.uint8)
    labels = labels.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:TEST_ROWS], order[TEST_ROWS:]
    return Dataset(
        name="digits",
        train=Examples(images[train], labels[train]),
        test=Examples(images[test], labels[test]),
        classes=10,
        preprocess=scaled(16.0, 0.5, 0.5),
    )
