"""The idx format of MNIST and its successors, gzipped."""

import gzip
from pathlib import Path

import numpy as np

from fedcos_jax.data.formats.archives import damage_named
from fedcos_jax.errors import require

_UNSIGNED_BYTES = 0x08


def read_idx(path: Path) -> np.ndarray:
    """Reads a gzipped idx file of unsigned bytes.

    The format is two zero bytes, a type byte, the number of dimensions, each dimension as a big-endian 32-bit
    integer, then the values.

    Returns:
        The values in the shape of the header.
    """
    require(path.is_file(), f"the file {path} is missing")
    with damage_named(path, "gzip"), gzip.open(path) as stream:
        content = stream.read()
    require(len(content) >= 4 and content[:3] == bytes([0, 0, _UNSIGNED_BYTES]), f"{path} is not an idx file of bytes")
    start = 4 + 4 * content[3]
    require(len(content) > start, f"{path} ends before its first value; fetch it again")
    shape = np.frombuffer(content[4:start], ">u4").astype(int)
    values = np.frombuffer(content, np.uint8, offset=start)
    require(values.size == shape.prod(), f"{path} holds {values.size} values instead of {shape.prod()}; fetch it again")
    return values.reshape(shape)
