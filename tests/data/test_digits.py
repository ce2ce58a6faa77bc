"""The digits: larger ones repeat pixels, and other sizes are refused."""

import numpy as np
import pytest

from fedcos_jax import InputError, load


@pytest.mark.parametrize("side", [8, 16, 28])
def test_larger_digits_repeat_pixels(side):
    small, large = load("digits"), load(f"digits({side})")
    assert large.input_shape == (side, side)
    np.testing.assert_array_equal(large.train.y, small.train.y)
    np.testing.assert_array_equal(np.unique(large.test.x[5]), np.unique(small.test.x[5]))
    if side % 8 == 0:
        np.testing.assert_array_equal(
            large.train.x, np.kron(small.train.x, np.ones((1, side // 8, side // 8), np.uint8))
        )


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("digits(7)", "digits have 8 to 64 pixels per side, got 7"),
        ("digits(65)", "digits have 8 to 64 pixels per side, got 65"),
        ("digits(8,8)", "takes at most 1 numbers"),
    ],
)
def test_mistakes_are_named(name, complaint):
    with pytest.raises(InputError, match=complaint):
        load(name)
