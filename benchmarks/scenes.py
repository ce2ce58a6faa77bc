"""The models and shapes of the paper, with random data in place of its datasets."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from fedcos_jax import Model, federate, models, partition
from fedcos_jax.data import Dataset, scaled
from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.cifar import DEVIATION, MEAN
from fedcos_jax.data.dataset import as_stored
from fedcos_jax.types import Array, Examples, FederatedData


class Scene(NamedTuple):
    """The shapes that the paper trains a model on."""

    model: str
    input_shape: tuple[int, ...]
    classes: int
    batch: int
    augmented: bool = False
    """Whether training images are cropped and flipped at random."""

    @property
    def input_dtype(self) -> str:
        """The type of the model's inputs."""
        return "int32" if len(self.input_shape) == 1 else "float32"

    def build(self) -> Model:
        """The model."""
        return models.build(self.model, self.input_shape, self.classes)

    def preprocessing(self) -> Callable[[Array, Array | None], Array]:
        """Scaled or augmented images, or symbols as they are stored."""
        if self.augmented:
            return crop_and_flip(MEAN, DEVIATION)
        return jax.tree_util.Partial(as_stored) if len(self.input_shape) == 1 else scaled(255.0, 0.5, 0.5)

    def random_dataset(self, rows: int, test_rows: int) -> Dataset:
        """Random bytes [rows, height, width, ...] or symbols [rows, length], with random labels."""
        rng = np.random.default_rng(0)
        highest, dtype = (self.classes, np.int32) if len(self.input_shape) == 1 else (256, np.uint8)

        def examples(rows: int) -> Examples:
            x = rng.integers(0, highest, (rows, *self.input_shape), dtype)
            return Examples(x, rng.integers(0, self.classes, rows, np.int32))

        return Dataset("random", examples(rows), examples(test_rows), self.classes, self.preprocessing())


SCENES = {
    scene.model: scene
    for scene in (
        Scene("mlp", (28, 28), 10, 128),
        Scene("cnn", (32, 32, 3), 10, 128, augmented=True),
        Scene("cnn_fmnist", (28, 28), 10, 64),
        Scene("lstm", (80,), 80, 10),
        Scene("resnet18", (32, 32, 3), 100, 64, augmented=True),
    )
}
MLP = SCENES["mlp"]


def divided(dataset: Dataset, by: str, clients: int) -> FederatedData:
    """The dataset, divided among clients by the partition of this name."""
    return federate(dataset, partition.build(by, dataset.train.y, clients, 0))


def mlp(hidden: int = 200, dropout: float = 0.5) -> Model:
    """The paper's MLP, 784-200-10, or one with another width or dropout."""
    return models.from_flax(models.MLP(MLP.classes, hidden, dropout), MLP.input_shape)
