"""ResNet18 with group normalisation, for images of CIFAR's size."""

import math

import flax.linen as nn
import jax.numpy as jnp

from fedcos_jax.ops.layers import GroupNorm, conv, dense, with_channels
from fedcos_jax.types import Array

GROUPS = 16
"""Groups of a norm layer, where its channels divide into as many."""
STAGES = ((1, 1), (2, 2), (4, 2), (8, 2))
"""Of each stage of two blocks: its width as a multiple of the first, and the stride of its first block."""


def group_norm(channels: int) -> GroupNorm:
    """16 groups, or the largest common divisor of 16 and the channels; PyTorch's epsilon."""
    return GroupNorm(num_groups=math.gcd(GROUPS, channels), epsilon=1e-5)


class Block(nn.Module):
    """relu(x + F(x)) with F two 3x3 convolutions, each normalised; where shapes change, x goes through a 1x1 one."""

    features: int
    stride: int
    torch_init: bool

    @nn.compact
    def __call__(self, x: Array) -> Array:
        y = conv(self.features, 3, x.shape[-1], self.torch_init, stride=self.stride, padding=1, use_bias=False)(x)
        y = nn.relu(group_norm(self.features)(y))
        y = conv(self.features, 3, self.features, self.torch_init, padding=1, use_bias=False)(y)
        y = group_norm(self.features)(y)
        if y.shape != x.shape:
            x = conv(self.features, 1, x.shape[-1], self.torch_init, stride=self.stride, use_bias=False)(x)
            x = group_norm(self.features)(x)
        return nn.relu(x + y)


class ResNet18(nn.Module):
    """A 3x3 convolution, four stages of two blocks, the mean over the image, and class scores.

    The stem has stride 1 and no pooling. Convolutions have no bias. With `width` 64, three channels and 10 classes:
    11,173,962 parameters.
    """

    classes: int = 10
    width: int = 64
    torch_init: bool = True

    @nn.compact
    def __call__(self, x: Array, train: bool = False) -> Array:
        x = with_channels(x)
        x = conv(self.width, 3, x.shape[-1], self.torch_init, padding=1, use_bias=False)(x)
        x = nn.relu(group_norm(self.width)(x))
        for multiple, stride in STAGES:
            x = Block(multiple * self.width, stride, self.torch_init)(x)
            x = Block(multiple * self.width, 1, self.torch_init)(x)
        x = jnp.mean(x, axis=(1, 2))
        return dense(self.classes, x.shape[-1], self.torch_init)(x)
