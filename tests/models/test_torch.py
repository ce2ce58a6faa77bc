"""Every model against PyTorch: outputs and gradients, weights copied across."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.traverse_util import flatten_dict

from fedcos_jax import models

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")
torch_models = pytest.importorskip("benchmarks.torch_models")
KEY = jax.random.key(0)


def image_model(name, shape):
    return models.build(name, shape, 10), (2, *shape)


CASES = {
    "mlp": (torch_models.mlp, lambda: image_model("mlp", (28, 28))),
    "cnn": (torch_models.cnn, lambda: image_model("cnn", (32, 32, 3))),
    "cnn_two_dense": (lambda: torch_models.cnn((120,)), lambda: image_model("cnn_two_dense", (32, 32, 3))),
    "cnn_fmnist": (torch_models.cnn_fmnist, lambda: image_model("cnn_fmnist", (28, 28))),
    "lenet": (torch_models.cnn, lambda: image_model("lenet", (32, 32, 3))),
    "resnet18": (
        lambda: torch_models.resnet18(8),
        lambda: (models.from_flax(models.ResNet18(width=8), (8, 8, 3)), (2, 8, 8, 3)),
    ),
    "resnet18_narrow": (
        lambda: torch_models.resnet18(16),
        lambda: (models.build("resnet18_narrow", (8, 8, 3), 10), (2, 8, 8, 3)),
    ),
    "lstm": (torch_models.LSTM, lambda: (models.build("lstm", (80,), 80), (4, 80))),
}


def in_torchs_layout(paths, params):
    """The arrays at these paths as PyTorch has them: dense kernels transposed, channels before pixels."""
    arrays, channels = [], None
    for path in paths:
        array = flatten_dict(params)[path]
        if path[-1] == "kernel" and array.ndim == 4:
            channels = array.shape[-1]
            array = array.transpose(3, 2, 0, 1)
        elif path[-1].startswith("kernel"):
            if channels is not None:
                array = array.reshape(-1, channels, array.shape[-1]).swapaxes(0, 1).reshape(array.shape)
            channels = None
            array = array.T
        arrays.append(array)
    return arrays


def assert_close(computed, expected, name):
    error = np.abs(np.asarray(computed) - expected).max()
    assert error <= 1e-4 * np.abs(expected).max(), (name, error)


def init(model):
    """The parameters, and their paths in the order in which the layers act; transformations sort them by name."""
    paths = []

    @jax.jit
    def traced(key):
        params = model.init(key)
        paths.extend(flatten_dict(params))
        return params

    return traced(KEY), paths


def sample(name, shape):
    """Inputs in our layout and in PyTorch's, and labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, shape[0])
    if name == "lstm":
        tokens = rng.integers(0, 80, shape)
        return tokens, tokens, labels
    images = rng.normal(size=shape).astype(np.float32)
    return images, np.moveaxis(images.reshape(*shape[:3], -1), -1, 1), labels


@pytest.mark.parametrize("name", models.MODELS)
def test_outputs_and_gradients_are_pytorchs(name):
    build_theirs, build_ours = CASES[name]
    (ours, shape), theirs = build_ours(), build_theirs().eval()
    x, their_x, y = sample(name, shape)
    params, paths = init(ours)
    named = list(theirs.named_parameters())
    for (_, parameter), array in zip(named, in_torchs_layout(paths, params), strict=True):
        assert parameter.shape == array.shape
        parameter.data = torch.tensor(np.array(array))

    @jax.jit
    def gradient_and_outputs(params):
        def loss(params):
            outputs = ours.apply(params, jnp.asarray(x), None)
            return ours.loss(outputs, jnp.asarray(y)).mean(), outputs

        return jax.grad(loss, has_aux=True)(params)

    gradient, outputs = gradient_and_outputs(params)
    expected = theirs(torch.tensor(their_x))
    torch.nn.functional.cross_entropy(expected, torch.tensor(y)).backward()
    assert_close(outputs, expected.detach().numpy(), "outputs")
    for (label, parameter), computed in zip(named, in_torchs_layout(paths, gradient), strict=True):
        assert_close(computed, parameter.grad.numpy(), label)
