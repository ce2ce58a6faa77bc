"""The paper's MLP for FMNIST: two dense layers, 784-200-10, dropout ½ on the hidden pre-activation."""

import math

import flax.linen as nn

from fedcos_jax.ops.layers import Dropout, dense
from fedcos_jax.types import Array


class MLP(nn.Module):
    """Flattened inputs, a hidden layer, dropout before its ReLU, and class scores.

    With 784 inputs: 784·200 + 200 + 200·10 + 10 = 159,010 parameters.
    """

    classes: int = 10
    hidden: int = 200
    dropout: float = 0.5
    torch_init: bool = True

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        x = x.reshape(x.shape[0], math.prod(x.shape[1:]))
        x = dense(self.hidden, x.shape[-1], self.torch_init)(x)
        x = nn.relu(Dropout(self.dropout)(x, train))
        return dense(self.classes, self.hidden, self.torch_init)(x)
