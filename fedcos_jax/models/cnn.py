"""The paper's convolutional networks: the CNN for CIFAR10, in two readings, and the CNN for FMNIST."""

import flax.linen as nn

from fedcos_jax.ops.layers import conv, dense, flat, with_channels
from fedcos_jax.ops.masks import Dropout
from fedcos_jax.types import Array


class CNN(nn.Module):
    """Two 5x5 convolutions of 6 and 16 channels, each with ReLU and 2x2 pooling, then hidden dense layers and classes.

    With 120 and 84 hidden units it is the classic LeNet, as in the authors' code. Their paper has two dense layers in
    all, so 120 hidden units. With 32x32x3 inputs and 10 classes it has (75·6 + 6) + (150·16 + 16) + (400·120 + 120)
    parameters, and 120·84 + 84 + 84·10 + 10 more in the code (62,006), or 120·10 + 10 more in the paper (52,202).
    """

    classes: int = 10
    hidden: tuple[int, ...] = (120, 84)

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        """Images [batch, height, width] or [batch, height, width, channels] -> scores [batch, classes]."""
        x = with_channels(x)
        for features in (6, 16):
            # ReLU is monotone, so it commutes with the maximum. After it there are a quarter of the elements.
            x = nn.relu(conv(features, 5, x.shape[-1], pool=2)(x))
        x = flat(x)
        for features in self.hidden:
            x = nn.relu(dense(features, x.shape[-1])(x))
        return dense(self.classes, x.shape[-1])(x)


class FMNISTCNN(nn.Module):
    """Two 5x5 convolutions of 10 and 20 channels, each with 2x2 pooling and ReLU, then dense 50 and the classes.

    Whole channels of the second convolution are dropped before its pooling, and units of the dense layer after its
    ReLU. With 28x28 inputs it has (25·10 + 10) + (250·20 + 20) + (320·50 + 50) + (50·10 + 10) = 21,840 parameters.
    """

    classes: int = 10
    dropout: float = 0.5

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        """Images [batch, height, width] or [batch, height, width, channels] -> scores [batch, classes]."""
        x = with_channels(x)
        x = nn.relu(conv(10, 5, x.shape[-1], pool=2)(x))
        x = conv(20, 5, x.shape[-1], pool=2)(x)
        # Dropout zeroes or scales a whole channel, and its maxima with it, so it may come after the pooling.
        x = nn.relu(Dropout(self.dropout, shared_axes=(1, 2))(x, train))
        x = flat(x)
        x = nn.relu(dense(50, x.shape[-1])(x))
        x = Dropout(self.dropout)(x, train)
        return dense(self.classes, x.shape[-1])(x)
