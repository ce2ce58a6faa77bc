"""The paper's MLP for FMNIST: two dense layers, 784-200-10, with dropout of one half before the hidden ReLU."""

import flax.linen as nn

from fedcos_jax.ops.layers import dense, flat
from fedcos_jax.ops.masks import Dropout
from fedcos_jax.types import Array


class MLP(nn.Module):
    """Flattened inputs, a hidden layer, dropout before its ReLU, and class scores.

    With 784 inputs it has 784·200 + 200 + 200·10 + 10 = 159,010 parameters.
    """

    classes: int = 10
    hidden: int = 200
    dropout: float = 0.5

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        """Inputs [batch, ...] -> scores [batch, classes]."""
        x = flat(x)
        x = dense(self.hidden, x.shape[-1])(x)
        x = nn.relu(Dropout(self.dropout)(x, train))
        return dense(self.classes, self.hidden)(x)
