"""Sheets: the images of both kinds come back, and a manifest or labels that do not fit are refused."""

import json

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data.formats.sheets import read_packed, read_pixel_rows

READERS = {"packed": read_packed, "npm": read_pixel_rows}


@pytest.mark.parametrize("form", READERS)
def test_images_and_labels_come_back(tmp_path, tiny_cifar10, form):
    tiny_cifar10.write(form, tmp_path)
    found = READERS[form](tmp_path)
    expected = tiny_cifar10.arrays()
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.uint8


def change_manifest(folder, change):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda manifest: manifest.pop("test"), "lacks 'test'"),
        (lambda manifest: manifest["train"].update(rows=11), "has 10 rows of pixels instead of 11"),
        (lambda manifest: manifest["train"].update(sha256_labels="0"), "the labels in .* do not match its manifest"),
        (lambda manifest: manifest["test"].update(sha256_pixels="0"), "the pixels in .* do not match its manifest"),
    ],
)
def test_a_manifest_that_does_not_fit(tmp_path, tiny_cifar10, change, complaint):
    tiny_cifar10.write("packed", tmp_path)
    change_manifest(tmp_path, change)
    with pytest.raises(InputError, match=complaint):
        read_packed(tmp_path)


@pytest.mark.parametrize(("labels", "complaint"), [("[1]", "test images and labels .* do not fit"), ("{", "not JSON")])
def test_labels_that_do_not_fit(tmp_path, tiny_cifar10, labels, complaint):
    tiny_cifar10.write("npm", tmp_path)
    (tmp_path / "test_lables.json").write_text(labels)
    with pytest.raises(InputError, match=complaint):
        read_pixel_rows(tmp_path)


@pytest.mark.parametrize("form", READERS)
def test_a_sheet_that_is_no_image(tmp_path, tiny_cifar10, form):
    tiny_cifar10.write(form, tmp_path)
    sheet = next(path for path in sorted(tmp_path.iterdir()) if path.suffix in (".png", ".webp"))
    sheet.write_bytes(b"no image")
    with pytest.raises(InputError, match="is damaged or not an image"):
        READERS[form](tmp_path)
