"""The models: `build` gives one by name, and `from_flax` and its siblings make one of a network of your own."""

from fedcos_jax.models.cnn import CNN, FMNISTCNN
from fedcos_jax.models.frameworks import from_equinox, from_flax, from_functions, from_nnx
from fedcos_jax.models.losses import Metric, cross_entropy, top1
from fedcos_jax.models.lstm import LSTM
from fedcos_jax.models.mlp import MLP
from fedcos_jax.models.model import Model, num_parameters
from fedcos_jax.models.registry import MODELS, ModelEntry, build
from fedcos_jax.models.resnet import ResNet18
from fedcos_jax.models.start import checksum, started_from

__all__ = [
    "CNN",
    "FMNISTCNN",
    "LSTM",
    "MLP",
    "MODELS",
    "Metric",
    "Model",
    "ModelEntry",
    "ResNet18",
    "build",
    "checksum",
    "cross_entropy",
    "from_equinox",
    "from_flax",
    "from_functions",
    "from_nnx",
    "num_parameters",
    "started_from",
    "top1",
]
