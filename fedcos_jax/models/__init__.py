"""The models, by name."""

from collections.abc import Callable

from fedcos_jax.errors import require_known
from fedcos_jax.models.mlp import MLP
from fedcos_jax.models.model import Model, cross_entropy, from_flax, num_parameters, top1

MODELS: dict[str, Callable[[tuple[int, ...], int], Model]] = {
    "mlp": lambda input_shape, classes: from_flax(MLP(classes=classes), input_shape),
}
"""name -> (shape of one input, number of classes) -> model."""


def build(name: str, input_shape: tuple[int, ...], classes: int) -> Model:
    """The named model for inputs of this shape."""
    require_known(name, MODELS, "model")
    return MODELS[name](input_shape, classes)


__all__ = ["MLP", "MODELS", "Model", "build", "cross_entropy", "from_flax", "num_parameters", "top1"]
