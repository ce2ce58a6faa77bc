"""The models in plain PyTorch, and a plain training loop. Ours are tested and measured against them."""

import itertools

import torch
from torch import nn

PAD = 4
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.GroupNorm(min(16, after), after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.GroupNorm(min(16, after), after),
        )
        changes = stride != 1 or before != after
        shortcut = [nn.Conv2d(before, after, 1, stride, bias=False), nn.GroupNorm(min(16, after), after)]
        self.shortcut = nn.Sequential(*shortcut if changes else [])

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.head = nn.Embedding(80, 8), nn.LSTM(8, 100, 2), nn.Linear(100, 80)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x.T))[0][-1])


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.Dropout(0.5), nn.ReLU(), nn.Linear(200, 10))


def cnn(hidden=(120, 84)):
    convolutions = [nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    dense = [layer for sizes in itertools.pairwise((400, *hidden)) for layer in (nn.Linear(*sizes), nn.ReLU())]
    return nn.Sequential(*convolutions, nn.Flatten(), *dense, nn.Linear(hidden[-1], 10))


def cnn_fmnist():
    first = [nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU()]
    second = [nn.Conv2d(10, 20, 5), nn.Dropout2d(0.5), nn.MaxPool2d(2), nn.ReLU()]
    dense = [nn.Linear(320, 50), nn.ReLU(), nn.Dropout(0.5), nn.Linear(50, 10)]
    return nn.Sequential(*first, *second, nn.Flatten(), *dense)


def resnet18(width, classes=10):
    stem = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.GroupNorm(min(16, width), width), nn.ReLU()]
    blocks, before = [], width
    for multiple, stride in ((1, 1), (1, 1), (2, 2), (2, 1), (4, 2), (4, 1), (8, 2), (8, 1)):
        blocks.append(Block(before, multiple * width, stride))
        before = multiple * width
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def train(model, x, y, rows, batch, steps, augmented):
    """Steps of SGD on random batches of a client's rows. x is as stored: bytes with channels last, or symbols."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    order = rows[torch.randperm(len(rows))]
    for step in range(steps):
        chosen = order[torch.arange(step * batch, (step + 1) * batch) % len(rows)]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(prepare(x[chosen], augmented)), y[chosen]).backward()
        optimizer.step()


def prepare(x, augmented):
    """Symbols stay as they are. Images become floats with channels first, and are cropped and flipped if augmented."""
    if x.dtype != torch.uint8:
        return x
    if not augmented:
        return (x / 255 - 0.5)[:, None] / 0.5
    batch, height, width, _ = x.shape
    padded = nn.functional.pad(x, (0, 0, PAD, PAD, PAD, PAD))
    down, right = (torch.randint(2 * PAD + 1, (batch, 1)) for _ in range(2))
    columns = torch.arange(width)[None]
    columns = torch.where(torch.rand(batch, 1) < 0.5, width - 1 - columns, columns) + right
    rows = torch.arange(height)[None] + down
    cropped = padded[torch.arange(batch)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return ((cropped / 255 - torch.tensor(MEAN)) / torch.tensor(DEVIATION)).permute(0, 3, 1, 2)
