"""The models: `build` gives one by name, and `from_flax` makes one of any flax module."""

from fedcos_jax.models.cnn import CNN, FMNISTCNN
from fedcos_jax.models.losses import Metric, cross_entropy, top1
from fedcos_jax.models.lstm import LSTM
from fedcos_jax.models.mlp import MLP
from fedcos_jax.models.model import Model, from_flax, num_parameters
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
    "from_flax",
    "num_parameters",
    "started_from",
    "top1",
]
