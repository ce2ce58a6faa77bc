"""Digests: equal rows in any order, and a line that names what is not the published data."""

import hashlib

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data.checksums import Published, check_file, check_rows, fingerprint

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 256, (20, 4, 4), np.uint8), RNG.integers(0, 10, 20).astype(np.uint8)
ARRAYS = {"train_x": X, "train_y": Y}
PUBLISHED = Published(
    "some", {"train": fingerprint(X, Y)}, {"file": "sha256:" + hashlib.sha256(b"published").hexdigest()}
)


def test_a_fingerprint_does_not_depend_on_the_order_of_the_rows():
    order = RNG.permutation(20)
    assert fingerprint(X[order], Y[order]) == fingerprint(X, Y)
    assert fingerprint(X, Y.astype(np.int64)) == fingerprint(X, Y)


def test_a_fingerprint_depends_on_every_pixel_and_on_whose_label_it_is():
    pixel, labels = X.copy(), np.roll(Y, 1)
    pixel[3, 2, 1] ^= 1
    assert len({fingerprint(X, Y), fingerprint(pixel, Y), fingerprint(X, labels), fingerprint(X[1:], Y[1:])}) == 4


def test_published_rows_come_through_and_others_do_not():
    assert check_rows(PUBLISHED, ARRAYS, "here") is ARRAYS
    with pytest.raises(InputError, match="the train images or labels of some in here are not the published ones"):
        check_rows(PUBLISHED, {"train_x": X, "train_y": Y[::-1]}, "here")


def test_published_files_and_unknown_ones_come_through_and_others_do_not(tmp_path):
    (tmp_path / "file").write_bytes(b"published")
    check_file(PUBLISHED, tmp_path, "file")
    check_file(PUBLISHED, tmp_path, "another")
    (tmp_path / "file").write_bytes(b"changed")
    with pytest.raises(InputError, match="file is not the published file: its SHA256 is"):
        check_file(PUBLISHED, tmp_path, "file")
