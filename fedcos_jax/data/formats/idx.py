"""The idx format of MNIST and its successors, gzipped."""

import gzip

import numpy as np

from fedcos_jax.data.formats.archives import damage_named
from fedcos_jax.errors import require

_UNSIGNED_BYTES = 0x08


def parse_idx(zipped: bytes, origin: object) -> np.ndarray:
    """The values of a gzipped idx file of unsigned bytes.

    The format is two zero bytes, a type byte, the number of dimensions, each dimension as a big-endian 32-bit
    integer, then the values.

    Args:
        zipped: the content of the file.
        origin: where it came from, for the message.

    Returns:
        The values in the shape of the header.
    """
    with damage_named(origin, "gzip"):
        content = gzip.decompress(zipped)
    is_idx = len(content) >= 4 and content[:3] == bytes([0, 0, _UNSIGNED_BYTES])
    require(is_idx, f"{origin} is not an idx file of bytes")
    start = 4 + 4 * content[3]
    require(len(content) > start, f"{origin} ends before its first value; fetch it again")
    shape = np.frombuffer(content[4:start], ">u4").astype(int)
    values = np.frombuffer(content, np.uint8, offset=start)
    require(
        values.size == shape.prod(), f"{origin} holds {values.size} values instead of {shape.prod()}; fetch it again"
    )
    return values.reshape(shape)
