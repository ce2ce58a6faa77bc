"""The models by name."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import flax.linen as nn
import jax.numpy as jnp
from jax.typing import DTypeLike

from fedcos_jax.errors import InputError, require, require_known
from fedcos_jax.models.cnn import CNN, FMNISTCNN
from fedcos_jax.models.frameworks import from_flax
from fedcos_jax.models.losses import ACCURACY, Metric, Values, cross_entropy
from fedcos_jax.models.lstm import LSTM
from fedcos_jax.models.mlp import MLP
from fedcos_jax.models.model import Model
from fedcos_jax.models.resnet import ResNet18
from fedcos_jax.types import Array


class ModelEntry(NamedTuple):
    """One row of the MODELS registry."""

    summary: str
    module: Callable[[Any], nn.Module]
    """(number of classes) -> flax module. None if labels are not classes, for a model with a loss of its own."""
    inputs: Literal["any", "images", "symbols"] = "any"
    """What an input is: images [height, width] or [height, width, channels], or symbols, whole numbers [steps]."""
    smallest: int = 1
    """Height and width of the smallest image that the model can take."""
    cpu_chunk: int | None = 1
    """As in `Model`. `make bench-models` shows that convolutions and recurrences are fastest one client at a time."""
    loss: Callable[[Array, Array], Values] = cross_entropy
    """As in `Model`."""
    metrics: tuple[Metric, ...] = (ACCURACY,)
    """As in `Model`."""


_CNN = ModelEntry("two convolutions (6, 16) and three dense layers, for CIFAR10", CNN, "images", 16)
MODELS: dict[str, ModelEntry] = {
    "mlp": ModelEntry("two dense layers, 784-200-10 for FMNIST, dropout", MLP, cpu_chunk=None),
    "cnn": _CNN,
    "cnn_two_dense": ModelEntry(
        "two convolutions (6, 16) and two dense layers, for CIFAR10", lambda n: CNN(n, hidden=(120,)), "images", 16
    ),
    "cnn_fmnist": ModelEntry(
        "two convolutions (10, 20) and two dense layers, dropout, for FMNIST", FMNISTCNN, "images", 16
    ),
    "lenet": _CNN._replace(summary="another name of cnn"),
    "resnet18": ModelEntry("ResNet18 with group normalisation, for CIFAR", ResNet18, "images"),
    "resnet18_narrow": ModelEntry(
        "ResNet18 with a quarter of the channels, 16 to 128", lambda n: ResNet18(n, width=16), "images"
    ),
    "lstm": ModelEntry(
        "two LSTM layers of 100 units, next character of a text", lambda n: LSTM(n, vocabulary=n), "symbols"
    ),
}


def build(name: str, input_shape: tuple[int, ...], classes: int | None, input_dtype: DTypeLike | None = None) -> Model:
    """The model of this name.

    Args:
        name: one of MODELS.
        input_shape: shape of one example, without the batch.
        classes: number of classes. None if labels are not classes.
        input_dtype: dtype of the inputs, to check that the model takes them. None to check the shape only.

    Example:
        >>> model = fc.models.build("mlp", dataset.input_shape, dataset.classes)
    """
    require_known(name, MODELS, "model")
    entry = MODELS[name]
    if classes is None and entry.loss is cross_entropy:
        raise InputError(
            f"the model {name} predicts classes, but these labels are not whole numbers from 0: use fc.from_flax"
        )
    _check_inputs(name, input_shape, input_dtype)
    wanted_dtype = "int32" if entry.inputs == "symbols" else "float32"
    model = from_flax(entry.module(classes), input_shape, wanted_dtype, entry.cpu_chunk, fast_layers=False)
    # Equal names give the same object, so that they share compiled programs.
    same = (model.loss, model.metrics) == (entry.loss, entry.metrics)
    return model if same else model._replace(loss=entry.loss, metrics=entry.metrics)


def _check_inputs(name: str, shape: tuple[int, ...], dtype: DTypeLike | None) -> None:
    entry, given = MODELS[name], "x".join(map(str, shape))
    if not _takes(entry, shape, dtype):
        given += f" and type {dtype}" if dtype is not None else ""
        fitting = ", ".join(other for other, entry in MODELS.items() if _takes(entry, shape, dtype))
        raise InputError(f"the model {name} takes {entry.inputs}, not inputs of shape {given} (those fit: {fitting})")
    size = entry.smallest
    require(min(shape[:2]) >= size, f"the model {name} needs images of at least {size}x{size}, got {given}")


def _takes(entry: ModelEntry, shape: tuple[int, ...], dtype: DTypeLike | None) -> bool:
    if entry.inputs == "symbols":
        return len(shape) == 1 and (dtype is None or jnp.issubdtype(dtype, jnp.integer))
    return entry.inputs == "any" or len(shape) in (2, 3)
