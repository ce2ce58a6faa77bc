"""Small files in LEAF's JSON, as others publish them."""

import json
from pathlib import Path

import numpy as np

from fedcos_jax.data.text import VOCABULARY

USERS = {"train": {"f0001_41": 5, "f0002_10": 3, "f0003_07": 4}, "test": {"f0002_10": 2, "f0001_41": 1, "f0009_99": 2}}
"""Rows of each user. The last test user has no training rows, as in LEAF's division by user."""


def femnist(rng, rows):
    """Images as LEAF writes them: k / 255."""
    return (rng.integers(0, 256, (rows, 784)) / 255).tolist(), rng.integers(0, 62, rows).tolist()


def shakespeare(rng, rows):
    letters = np.array(list(VOCABULARY))
    return ["".join(rng.choice(letters, 80)) for _ in range(rows)], rng.choice(letters, rows).tolist()


def sent140(rng, rows):
    words = ["Good", "bad", "day", "it's", "!", "fine,"]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(rows)]
    return [["1467", "Mon Apr 06", "NO_QUERY", "someone", text] for text in texts], rng.choice([0, 1], rows).tolist()


SAMPLES = {"femnist": femnist, "shakespeare": shakespeare, "sent140": sent140}


def content(samples):
    """A file of LEAF from {user: (x, y)}."""
    return {
        "users": list(samples),
        "num_samples": [len(y) for _, y in samples.values()],
        "user_data": {user: {"x": x, "y": y} for user, (x, y) in samples.items()},
    }


def write(path: Path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def write_dataset(folder: Path, kind: str, users_per_file: int = 2) -> dict[str, dict[str, tuple]]:
    """Writes train and test files with a few users each, and returns {split: {user: (x, y)}}."""
    rng = np.random.default_rng(0)
    written = {}
    for split, users in USERS.items():
        samples = {user: SAMPLES[kind](rng, rows) for user, rows in users.items()}
        names = list(samples)
        for start in range(0, len(names), users_per_file):
            part = {name: samples[name] for name in names[start : start + users_per_file]}
            write(folder / split / f"all_data_{start}_niid_0_keep_0_{split}_9.json", content(part))
        written[split] = samples
    return written
