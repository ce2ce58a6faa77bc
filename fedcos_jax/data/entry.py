"""What the registry says of a dataset."""

from collections.abc import Callable
from typing import NamedTuple

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.formats.forms import Form
from fedcos_jax.data.formats.tfds import Catalogue


class DatasetEntry(NamedTuple):
    """One row of the DATASETS registry."""

    summary: str
    rows: tuple[int, int] | None
    """Training and test rows. None if the user chooses their number."""
    shape: tuple[int, ...]
    """Shape of one example after preprocessing."""
    build: Callable[..., Dataset]
    """(decoded arrays) -> dataset. For an embedded dataset: (the numbers behind its name) -> dataset."""
    forms: tuple[Form, ...] = ()
    """The forms in which it lies on disk. An embedded dataset has none."""
    catalogue: Catalogue | None = None
    """Its description for TensorFlow Datasets. None if it is not there."""
    advice: str = ""
    """How to get the files."""
    numbers: tuple[Callable[[str], float], ...] = ()
    """Readers of the numbers that may stand behind the name, in brackets."""
    example: str = ""
    """A name with its numbers."""
    varies: bool = False
    """Whether others publish different draws under this name. Then the cache never stands in for missing files."""

    @property
    def embedded(self) -> bool:
        """Whether the package makes the dataset itself, without any files."""
        return not self.forms
