"""Prepares Fashion-MNIST with TFDS's own builder, which needs TensorFlow, and compares it with the archive source.

`make check-tfds-builtin`, with FEDCOS_DATA_DIR set; in an environment of its own, because TensorFlow is large.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np


def main() -> int:
    originals = Path(os.environ["FEDCOS_DATA_DIR"]) / "fashion_mnist"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TFDS_DATA_DIR"] = folder
        os.environ["FEDCOS_CACHE_DIR"] = str(Path(folder, "cache"))
        import tensorflow_datasets as tfds

        from fedcos_jax import load

        manual = Path(folder, "downloads", "manual")
        manual.mkdir(parents=True)
        for path in originals.glob("*.gz"):
            shutil.copy(path, manual)
        tfds.builder("fashion_mnist", file_format="array_record").download_and_prepare()
        theirs, ours = load("fashion_mnist", source="tfds"), load("fashion_mnist", source="files")
        for split in ("train", "test"):
            for field in ("x", "y"):
                got, expected = getattr(getattr(theirs, split), field), getattr(getattr(ours, split), field)
                np.testing.assert_array_equal(got, expected)
    print("TFDS's built-in builder and the archive give the same 70,000 rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
