"""ResNet18 with group normalisation, for images of CIFAR's size."""

import math

import flax.linen as nn
import jax.numpy as jnp

from fedcos_jax.ops.layers import GroupNorm, conv, dense, with_channels
from fedcos_jax.types import Array

GROUPS = 16
"""Groups per norm layer, if they divide its channels."""
STAGES = ((1, 1), (2, 2), (4, 2), (8, 2))
"""For each stage of two blocks: its width as a multiple of the first, and the stride of its first block."""


def group_norm(channels: int) -> GroupNorm:
    """A norm layer with gcd(16, channels) groups and PyTorch's epsilon."""
    return GroupNorm(num_groups=math.gcd(GROUPS, channels), epsilon=1e-5)


class Block(nn.Module):
    """relu(x + F(x)), where F is two normalised 3x3 convolutions.

    Where F changes the shape, x goes through a normalised 1x1 convolution.
    """

    features: int
    stride: int

    @nn.compact
    def __call__(self, x: Array) -> Array:
        y = conv(self.features, 3, x.shape[-1], stride=self.stride, padding=1, use_bias=False)(x)
        y = nn.relu(group_norm(self.features)(y))
        y = conv(self.features, 3, self.features, padding=1, use_bias=False)(y)
        y = group_norm(self.features)(y)
        if y.shape != x.shape:
            x = conv(self.features, 1, x.shape[-1], stride=self.stride, use_bias=False)(x)
            x = group_norm(self.features)(x)
        return nn.relu(x + y)


class ResNet18(nn.Module):
    """A 3x3 convolution, four stages of two blocks, the mean over the image, and class scores.

    The first convolution has stride 1, and no pooling follows it. Convolutions have no bias. With `width` 64, three
    channels and 10 classes it has 11,173,962 parameters.
    """

    classes: int = 10
    width: int = 64

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        """Images [batch, height, width] or [batch, height, width, channels] -> scores [batch, classes]."""
        x = with_channels(x)
        x = conv(self.width, 3, x.shape[-1], padding=1, use_bias=False)(x)
        x = nn.relu(group_norm(self.width)(x))
        for multiple, stride in STAGES:
            x = Block(multiple * self.width, stride)(x)
            x = Block(multiple * self.width, 1)(x)
        x = jnp.mean(x, axis=(1, 2))
        return dense(self.classes, x.shape[-1])(x)
