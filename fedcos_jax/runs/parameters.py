"""The parameters of a model in a safetensors file, by name. PyTorch and others can read it, and it holds no code."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from fedcos_jax import tree
from fedcos_jax.engine.loop import Report
from fedcos_jax.errors import InputError, require
from fedcos_jax.models import Model
from fedcos_jax.models.start import fitted
from fedcos_jax.runs import files
from fedcos_jax.types import Params, RoundState

SUFFIX = ".safetensors"
KEY = "fedcos_jax"
"""The entry of the file's metadata that says what the parameters are, as JSON."""
TYPES: dict[str, Any] = {
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "BF16": jnp.dtype(jnp.bfloat16),
    "BOOL": np.dtype(bool),
}
"""The types of parameters, by their names in the file."""


class Saved(NamedTuple):
    """What a file holds."""

    params: dict[str, np.ndarray]
    """By name, in the types in which they were saved."""
    about: dict[str, Any]
    """What was saved with them. Empty if another program wrote the file."""


class Latest:
    """A callback that holds the parameters of the last report, without a copy of them."""

    state: RoundState

    def __call__(self, report: Report) -> None:
        """Takes the state. The next tick reuses its buffers, but after the last tick they stay."""
        self.state = report.state

    @property
    def params(self) -> Params:
        """The parameters after the end of the run."""
        return self.state.params


def save_params(path: str | os.PathLike, params: Params, about: Mapping[str, Any] | None = None) -> None:
    """Writes parameters to a safetensors file, which is either complete or absent.

    The name of a parameter is the path to it in the tree, joined by dots, like `Dense_0.kernel`.

    Args:
        path: of the file, which ends in `.safetensors`.
        params: a tree of arrays, e.g. the `params` of a state.
        about: what else to store in the file, ready for JSON.

    Example:
        >>> state, history = fc.run(jax.random.key(0), experiment)
        >>> fc.save_params("model.safetensors", state.params)
    """
    path = Path(path)
    require_name(path)
    # Safetensors copies memory as it lies there, so each array must lie there row by row.
    arrays = {name: np.asarray(leaf, order="C") for name, leaf in tree.named(jax.device_get(params)).items()}
    require(bool(arrays), f"cannot write {path}: there are no parameters")
    for name, array in arrays.items():
        known = array.dtype in TYPES.values()
        require(known, f"cannot write {path}: {name or 'the parameter'} has the type {array.dtype}")
    # One entry keeps the file the same, bit by bit, because safetensors writes several in any order.
    metadata = {KEY: json.dumps(dict(about or {}), allow_nan=False)}
    files.write_bytes(path, safetensors.numpy.save(arrays, metadata))


def load_params(path: str | os.PathLike, model: Model | None = None) -> Params:
    """Reads parameters from a safetensors file.

    Args:
        path: of the file.
        model: whose parameters they are. They must fit it, and the result has its structure and its types. None for
            nested dictionaries of arrays in the types of the file.

    Example:
        >>> params = fc.load_params("model.safetensors", experiment.model)
    """
    path = Path(path)
    saved = read(path)
    return _nested(saved.params, path) if model is None else fitted(saved.params, model, str(path))


def read(path: Path) -> Saved:
    """Everything that a file holds."""
    require(not path.is_dir(), f"cannot read {path}: it is a folder, not a {SUFFIX} file")
    try:
        content = path.read_bytes()
        tensors = safetensors.deserialize(content)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except safetensors.SafetensorError as error:
        raise InputError(f"{path} is not a whole {SUFFIX} file: {error}") from None
    params = {}
    for name, tensor in tensors:
        require(tensor["dtype"] in TYPES, f"{path} holds {name} of type {tensor['dtype']}, which cannot be read here")
        params[name] = np.frombuffer(tensor["data"], TYPES[tensor["dtype"]]).reshape(tensor["shape"])
    require(bool(params), f"{path} holds no parameters")
    return Saved(params, _about(content))


def require_name(path: Path) -> None:
    """Raises InputError unless the name of a file says what it is."""
    require(path.suffix == SUFFIX, f"parameters are written as {SUFFIX}, so {path} needs a name like model{SUFFIX}")


def _about(content: bytes) -> dict[str, Any]:
    """What we have written about the parameters of a file that has been checked."""
    size = int.from_bytes(content[:8], "little")
    text = json.loads(content[8 : 8 + size]).get("__metadata__", {}).get(KEY, "{}")
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _nested(params: dict[str, np.ndarray], path: Path) -> Params:
    """The parameters in nested dictionaries, one per part of a name."""
    root: dict[str, Any] = {}
    for name, array in params.items():
        *outer, last = name.split(".")
        place = root
        for part in outer:
            place = place.setdefault(part, {})
            require(isinstance(place, dict), f"{path} has a parameter inside another one: {name}")
        require(last not in place, f"{path} has a parameter inside another one: {name}")
        place[last] = array
    return root
