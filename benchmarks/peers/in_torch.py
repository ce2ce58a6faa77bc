"""The job's models and local training in PyTorch, for the plain loop and for the libraries built on PyTorch."""

import numpy as np
import torch
from torch import nn

from benchmarks import torch_models
from benchmarks.peers.job import BATCH, RATE, ROWS, STEPS, Data, Job, Weights, scaled

MODELS = {"mlp": torch_models.mlp, "cnn": torch_models.cnn}


def build(job: Job, weights: Weights) -> nn.Module:
    """The model with these weights."""
    model = MODELS[job.model]()
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), _torch_layout(weights), strict=True):
            parameter.copy_(torch.from_numpy(array))
    return model


def _torch_layout(weights: Weights) -> list[np.ndarray]:
    """Kernels as [out, in, ...]. In PyTorch the first dense layer sees its pixels channel by channel."""
    arrays = []
    for name, array in weights.items():
        if array.ndim == 4:
            array = array.transpose(3, 2, 0, 1)
        elif name == "dense0/kernel" and "conv1/kernel" in weights:
            channels = weights["conv1/kernel"].shape[-1]
            array = array.reshape(-1, channels, array.shape[-1]).swapaxes(0, 1).reshape(array.shape).T
        elif array.ndim == 2:
            array = array.T
        arrays.append(np.ascontiguousarray(array))
    return arrays


def weights_of(parameters: list[torch.Tensor], like: Weights) -> Weights:
    """The parameters in the job's layout: the other way round than `build`."""
    weights = {}
    for (name, old), parameter in zip(like.items(), parameters, strict=True):
        array = parameter.detach().numpy()
        if array.ndim == 4:
            array = array.transpose(2, 3, 1, 0)
        elif name == "dense0/kernel" and "conv1/kernel" in like:
            channels = like["conv1/kernel"].shape[-1]
            array = array.T.reshape(channels, -1, old.shape[-1]).swapaxes(0, 1).reshape(old.shape)
        elif array.ndim == 2:
            array = array.T
        weights[name] = np.array(array)
    return weights


def client_tensors(data: Data, client: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A client's inputs [rows, (channels,) height, width] as floats, and its labels."""
    rows = slice(client * ROWS, (client + 1) * ROWS)
    x = torch.from_numpy(scaled(data.x[rows]))
    x = x.permute(0, 3, 1, 2).contiguous() if x.ndim == 4 else x
    return x, torch.from_numpy(data.y[rows].astype(np.int64))


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """One epoch of SGD in a random order."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    order = torch.randperm(len(y))
    for step in range(STEPS):
        chosen = order[step * BATCH : (step + 1) * BATCH]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
        optimizer.step()
