"""Shakespeare by speaking role, as in LEAF and FedProx: a model reads 80 characters and predicts the next one.

A client is a role. The paper's draw of roles has no published seed. Ours has another seed and the same counts.
"""

import gzip
import hashlib
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from fedcos_jax.data.dataset import Dataset
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.data.formats import speeches
from fedcos_jax.data.formats.archives import damage_named
from fedcos_jax.data.formats.forms import Arrays, Form
from fedcos_jax.data.text import VOCABULARY, next_character, symbols
from fedcos_jax.errors import require

WINDOW = 80
CLIENTS, SAMPLES = 143, 517_106
"""The counts of the paper."""
DRAW = 1437
"""Seed of the draw of roles."""
TEXT_MD5 = "d2028225a89d8b0b3093dddb720da91f"
"""MD5 of the unpacked text."""


def build(arrays: Arrays) -> Dataset:
    """The dataset of `text`, indices into the vocabulary [characters], and `offsets` of the roles [clients + 1]."""
    return next_character("shakespeare", arrays["text"], arrays["offsets"], window=WINDOW, classes=len(VOCABULARY))


def read(file: str, folder: Path) -> Arrays:
    """The paper's numbers of roles and samples, drawn from the complete works."""
    roles = speeches.parse(published_lines(folder / file))
    return encode(choose(speeches.role_texts(roles, longer_than=WINDOW)))


def published_lines(path: Path) -> Iterator[str]:
    """The lines of the text, one at a time. Raises InputError at the end if the text was not the published one."""
    digest = hashlib.md5(usedforsecurity=False)
    opener = gzip.open if path.suffix == ".gz" else open
    with damage_named(path, "gzip"), opener(path, "rb") as stream:
        for line in stream:
            digest.update(line)
            yield line.decode("latin-1").rstrip("\r\n")
    found = digest.hexdigest()
    require(found == TEXT_MD5, f"the text in {path} is not the published one: its MD5 is {found}, not {TEXT_MD5}")


def choose(texts: dict[str, str], clients: int = CLIENTS, samples: int = SAMPLES) -> list[str]:
    """The texts of the first roles in a fixed random order. The last one is cut, so that `samples` windows remain.

    Args:
        texts: the texts of all roles, by name.
        clients: number of roles to take.
        samples: number of windows to keep. Fewer remain if the roles do not have as many.
    """
    names = sorted(texts)
    random.Random(DRAW).shuffle(names)
    chosen = [texts[name] for name in names[:clients]]
    surplus = max(0, sum(len(text) - WINDOW for text in chosen) - samples)
    require(
        surplus < len(chosen[-1]) - WINDOW, f"{clients} roles have {surplus} more samples than the {samples} wanted"
    )
    return [*chosen[:-1], chosen[-1][: len(chosen[-1]) - surplus]]


def encode(texts: Sequence[str]) -> Arrays:
    """The joined texts as vocabulary indices, `text` [characters], and where each begins, `offsets` [texts + 1]."""
    return {"text": symbols("".join(texts)), "offsets": np.cumsum([0, *map(len, texts)]).astype(np.int32)}


ENTRY = DatasetEntry(
    summary="517,106 samples of the next character, 143 speaking roles; natural clients",
    rows=(413_630, 103_476),
    shape=(WINDOW,),
    build=build,
    forms=tuple(Form(file, (file,), partial(read, file)) for file in ("t8.shakespeare.txt.gz", "t8.shakespeare.txt")),
    advice="t8.shakespeare.txt, Project Gutenberg's complete works, in DATA/shakespeare",
)
