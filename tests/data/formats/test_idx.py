"""The idx format: files are read back, and broken ones are refused in one line."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import InputError
from fedcos_jax.data.formats.idx import parse_idx


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@settings(deadline=None)
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 100))
def test_an_idx_file_is_read_back(shape, seed):
    array = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    np.testing.assert_array_equal(parse_idx(gzip.compress(idx(array)), "file"), array)


ZEROS = idx(np.zeros((20, 30), np.uint8))
BROKEN = {
    "not gzip": b"not gzip",
    "empty": b"",
    "nothing inside": gzip.compress(b""),
    "a value too few": gzip.compress(ZEROS[:-1]),
    "a value too many": gzip.compress(ZEROS + b"x"),
    "not bytes": gzip.compress(bytes([0, 0, 13, 1]) + bytes(8)),
    "half a header": gzip.compress(bytes([0, 0, 8, 3, 0, 0])),
    "truncated": gzip.compress(ZEROS)[:-9],
}


@pytest.mark.parametrize("harm", BROKEN)
def test_a_broken_idx_file_is_one_line(harm):
    with pytest.raises(InputError) as refusal:
        parse_idx(BROKEN[harm], "the file")
    assert "the file" in str(refusal.value)
    assert "\n" not in str(refusal.value)
