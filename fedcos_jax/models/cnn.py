"""The paper's convolutional networks: the CNN of CIFAR10, in two readings, its LeNet, and the CNN of FMNIST."""

import math

import flax.linen as nn

from fedcos_jax.ops.layers import Dropout, conv, dense, with_channels
from fedcos_jax.types import Array


class CNN(nn.Module):
    """Two 5x5 convolutions of 6 and 16 channels, each with ReLU and 2x2 pooling, then hidden dense layers and classes.

    With 120 and 84 hidden units the classic LeNet shape, which the authors' code has; their paper writes of two dense
    layers in all. With 32x32x3 inputs and 10 classes: (75·6 + 6) + (150·16 + 16) + (400·120 + 120) parameters, and
    (120·84 + 84) + (84·10 + 10) more make 62,006, or 120·10 + 10 more 52,202.
    """

    classes: int = 10
    hidden: tuple[int, ...] = (120, 84)
    torch_init: bool = True

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        x = with_channels(x)
        for features in (6, 16):
            # ReLU is monotone: after the maximum it does the same on a quarter of the elements.
            x = nn.relu(conv(features, 5, x.shape[-1], self.torch_init, pool=2)(x))
        x = x.reshape(x.shape[0], math.prod(x.shape[1:]))
        for features in self.hidden:
            x = nn.relu(dense(features, x.shape[-1], self.torch_init)(x))
        return dense(self.classes, x.shape[-1], self.torch_init)(x)


class FMNISTCNN(nn.Module):
    """Two 5x5 convolutions of 10 and 20 channels, each with 2x2 pooling and ReLU, then dense 50 and the classes.

    Whole channels of the second convolution are dropped before its pooling, and units of the dense layer after its
    ReLU. With 28x28 inputs: (25·10 + 10) + (250·20 + 20) + (320·50 + 50) + (50·10 + 10) = 21,840 parameters.
    """

    classes: int = 10
    dropout: float = 0.5
    torch_init: bool = True

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        x = with_channels(x)
        x = nn.relu(conv(10, 5, x.shape[-1], self.torch_init, pool=2)(x))
        x = conv(20, 5, x.shape[-1], self.torch_init, pool=2)(x)
        # A whole channel is zeroed or scaled up, so its maxima are too: the order of the two does not matter.
        x = nn.relu(Dropout(self.dropout, shared_axes=(1, 2))(x, train))
        x = x.reshape(x.shape[0], math.prod(x.shape[1:]))
        x = nn.relu(dense(50, x.shape[-1], self.torch_init)(x))
        x = Dropout(self.dropout)(x, train)
        return dense(self.classes, x.shape[-1], self.torch_init)(x)
