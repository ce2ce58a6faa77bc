"""CIFAR in every form: the same arrays from each, and nothing from a broken one."""

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import load

FORMS = ["python", "python archive", "binary", "binary archive", "packed"]


@pytest.mark.parametrize(
    ("name", "form"), [(n, f) for n in ("cifar10", "cifar100") for f in FORMS] + [("cifar10", "npm")]
)
@pytest.mark.parametrize("nested", [True, False])
def test_every_form_gives_the_same_arrays(request, monkeypatch, tmp_path, name, form, nested):
    tiny = request.getfixturevalue(f"tiny_{name}")
    folder = tmp_path / "data" / name if nested else tmp_path / "data"
    tiny.publish(monkeypatch, tiny.write(form, folder), folder)
    dataset = load(name, source="files", data_dir=tmp_path / "data")
    expected = tiny.arrays()
    for split, examples in (("train", dataset.train), ("test", dataset.test)):
        np.testing.assert_array_equal(examples.x, expected[f"{split}_x"])
        np.testing.assert_array_equal(examples.y, expected[f"{split}_y"])
        assert examples.x.dtype == np.uint8
        assert examples.y.dtype == np.int32
    assert (dataset.input_shape, dataset.classes) == ((32, 32, 3), tiny.variant.classes)


@pytest.mark.parametrize("form", [*FORMS, "npm"])
@pytest.mark.parametrize("harm", ["truncated", "changed", "emptied"])
def test_broken_files_are_refused_and_nothing_is_cached(monkeypatch, tmp_path, tiny_cifar10, cached, form, harm):
    paths = tiny_cifar10.write(form, tmp_path / "data")
    tiny_cifar10.publish(monkeypatch, paths, tmp_path / "data")
    for victim in paths:
        whole = victim.read_bytes()
        middle = len(whole) // 2
        broken = {
            "truncated": whole[:middle],
            "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "emptied": b"",
        }
        victim.write_bytes(broken[harm])
        with pytest.raises(InputError) as refusal:
            load("cifar10", source="files", data_dir=tmp_path / "data")
        assert "\n" not in str(refusal.value)
        assert str(tmp_path / "data") in str(refusal.value)
        assert cached() == []
        victim.write_bytes(whole)
    load("cifar10", source="files", data_dir=tmp_path / "data")
    assert len(cached()) == 1


@pytest.mark.parametrize("form", ["python", "binary", "packed", "npm"])
def test_other_images_than_the_published_ones_are_refused(monkeypatch, tmp_path, tiny_cifar10, cached, form):
    paths = tiny_cifar10.write(form, tmp_path)
    tiny_cifar10.publish(monkeypatch, paths, tmp_path)
    first = tiny_cifar10.variant.train[0]
    tiny_cifar10.batches[first][1][0] = (tiny_cifar10.batches[first][1][0] + 1) % 10
    tiny_cifar10.publish(monkeypatch, [])
    with pytest.raises(InputError, match="not the published ones"):
        load("cifar10", source="files", data_dir=tmp_path)
    assert cached() == []


def test_originals_are_hashed_before_they_are_unpickled(monkeypatch, tmp_path, tiny_cifar10):
    tiny_cifar10.write("python", tmp_path)
    monkeypatch.setattr("fedcos_jax.data.cifar.read_batch", lambda *_: pytest.fail("unpickled before it was checked"))
    with pytest.raises(InputError, match="data_batch_1 is not the published file"):
        load("cifar10", source="files", data_dir=tmp_path)


def test_a_missing_batch_is_named(tmp_path, tiny_cifar10):
    tiny_cifar10.write("binary", tmp_path)
    (tmp_path / "cifar-10-batches-bin" / "data_batch_3.bin").unlink()
    with pytest.raises(InputError, match=r"data_batch_3\.bin is missing"):
        load("cifar10", source="files", data_dir=tmp_path)


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_the_real_images(real, name):
    dataset = real(name)
    classes = dataset.classes
    assert (dataset.train.x.shape, dataset.test.x.shape) == ((50_000, 32, 32, 3), (10_000, 32, 32, 3))
    assert np.bincount(dataset.train.y).tolist() == [50_000 // classes] * classes
    assert np.bincount(dataset.test.y).tolist() == [10_000 // classes] * classes
    published = {"cifar10": (0.4914, 0.4822, 0.4465), "cifar100": (0.5071, 0.4865, 0.4409)}[name]
    means = dataset.train.x.reshape(-1, 3).mean(axis=0, dtype=np.float64) / 255
    np.testing.assert_allclose(means, published, atol=2e-4)
    first = {"cifar10": [6, 9, 9, 4, 1, 1, 2, 7, 8, 3], "cifar100": [19, 29, 0, 11, 1, 86, 90, 28, 23, 31]}[name]
    assert dataset.train.y[:10].tolist() == first
