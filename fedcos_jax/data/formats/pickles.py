"""Reads the pickles of CIFAR's Python archives without running the code that a pickle may contain."""

import io
import pickle
from typing import Any

import numpy as np

from fedcos_jax.errors import InputError


def read_batch(content: bytes, origin: object) -> dict[str, Any]:
    """The dictionary of one pickled batch. It may hold byte arrays, lists, numbers and strings, and nothing else.

    Args:
        content: the pickle.
        origin: where it came from, for the message.
    """
    try:
        batch = _ByteArrays(io.BytesIO(content), encoding="bytes").load()
    except pickle.UnpicklingError as error:
        raise InputError(f"{origin} is refused: {error}") from None
    except Exception as error:  # a damaged pickle can raise anything
        raise InputError(f"{origin} is not a CIFAR batch ({type(error).__name__}); fetch it again") from None
    if not isinstance(batch, dict):
        raise InputError(f"{origin} is not a CIFAR batch: it holds a {type(batch).__name__}, not a dictionary")
    return {key.decode() if isinstance(key, bytes) else str(key): value for key, value in batch.items()}


def _empty_array(kind: type, shape: tuple[int, ...], code: bytes) -> np.ndarray:
    """Replaces numpy's `_reconstruct`. It allows the one call by which a pickle starts a plain array."""
    if kind is not np.ndarray or shape != (0,):
        raise pickle.UnpicklingError("the pickle builds something other than a plain array")
    return np.ndarray((0,), np.uint8)


def _byte_type(code: Any, *flags: Any) -> np.dtype:
    """Replaces `numpy.dtype` and allows unsigned bytes only. It gives a copy, because unpickling sets its state."""
    if code not in ("u1", b"u1"):
        raise pickle.UnpicklingError(f"the pickle holds an array of {code!r}, not of bytes")
    return np.dtype("u1", copy=True)


class _ByteArrays(pickle.Unpickler):
    """Admits the globals that an array of bytes needs, by their names in old and new numpy, and no others."""

    _ADMITTED = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _empty_array,
        ("numpy._core.multiarray", "_reconstruct"): _empty_array,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): _byte_type,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ADMITTED:
            raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}, which no CIFAR batch needs")
        return self._ADMITTED[module, name]
