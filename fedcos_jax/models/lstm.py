"""The paper's LSTM for Shakespeare. It reads a sequence of characters and scores the next character."""

import flax.linen as nn

from fedcos_jax.ops.layers import dense, torch_uniform
from fedcos_jax.ops.lstm import GATES, lstm_layer
from fedcos_jax.types import Array


class LSTM(nn.Module):
    """An embedding, layers of LSTM units, and class scores from the last step of the last layer.

    With 80 characters, 8 dimensions and 2 layers of 100 units, and PyTorch's two biases per gate, it has
    80·8 + 400·(8 + 100 + 2) + 400·(100 + 100 + 2) + (100·80 + 80) = 133,520 parameters.
    """

    classes: int = 80
    vocabulary: int = 80
    embedding: int = 8
    hidden: int = 100
    layers: int = 2

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        """Symbols [batch, steps] -> scores [batch, classes]."""
        states = nn.Embed(self.vocabulary, self.embedding, embedding_init=nn.initializers.normal(1.0))(x.T)
        for _ in range(self.layers):
            states = LSTMLayer(self.hidden)(states)
        return dense(self.classes, self.hidden)(states[-1])


class LSTMLayer(nn.Module):
    """One layer that starts from zero: inputs [steps, batch, features] -> states [steps, batch, hidden].

    Its parameters are those of torch.nn.LSTM, transposed: a kernel and a bias for the inputs, and another kernel and
    bias for the states.
    """

    hidden: int

    @nn.compact
    def __call__(self, x: Array) -> Array:
        width, init = GATES * self.hidden, torch_uniform(self.hidden)
        kernel_ih = self.param("kernel_ih", init, (x.shape[-1], width))
        kernel_hh = self.param("kernel_hh", init, (self.hidden, width))
        bias = self.param("bias_ih", init, (width,)) + self.param("bias_hh", init, (width,))
        return lstm_layer(x, kernel_ih, kernel_hh, bias)
