"""`load` and the commands around it, as a user meets them."""

import shutil

import numpy as np
import pytest
from PIL import Image

from fedcos_jax import InputError, load
from fedcos_jax.cli.main import main
from fedcos_jax.data import DATASETS
from fedcos_jax.data.partition import Ownership
from fedcos_jax.cli.charts import class_counts


@pytest.mark.parametrize("name", DATASETS)
def test_the_registry_tells_the_truth(name, request):
    dataset = load(name) if DATASETS[name].embedded else request.getfixturevalue("real")(name)
    entry = DATASETS[name]
    assert entry.rows in (None, (len(dataset.train.y), len(dataset.test.y)))
    assert entry.shape == dataset.input_shape
    assert set(np.unique(dataset.train.y)) <= set(range(dataset.classes))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "cifar"}, "unknown dataset 'cifar'; did you mean 'cifar10'"),
        ({"name": "digits", "source": "web"}, "unknown source 'web'"),
        ({"name": "digits", "source": "tfds"}, "digits is embedded"),
        ({"name": "cifar10", "source": "embedded"}, "cifar10 is not embedded"),
        ({"name": "cifar10", "source": "files"}, "FEDCOS_DATA_DIR and --data-dir are not set"),
        ({"name": "shakespeare", "source": "tfds"}, "not in TensorFlow Datasets: get t8.shakespeare.txt"),
        ({"name": "shakespeare"}, "shakespeare was not found"),
        ({"name": "cifar10", "data_dir": "no/such/folder"}, "no/such/folder does not exist"),
    ],
)
def test_mistakes_are_one_line(arguments, complaint):
    with pytest.raises(InputError) as refusal:
        load(**arguments)
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_data_lists_what_is_found_and_what_to_do(monkeypatch, tmp_path, tiny_cifar10, capsys):
    tiny_cifar10.write("binary", tmp_path / "data" / "cifar10")
    tiny_cifar10.publish(monkeypatch)
    assert main(["data", "--data-dir", str(tmp_path / "data")]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines.keys() == DATASETS.keys()
    assert "60,000 + 10,000 rows  28x28" in lines["fashion_mnist"]
    assert "embedded" in lines["digits"]
    assert f"cifar-10-binary/ in {tmp_path / 'data' / 'cifar10'} (not checked yet" in lines["cifar10"]
    assert "not found: get cifar-100-binary.tar.gz" in lines["cifar100"]

    assert main(["data", "prepare", "cifar10", "--data-dir", str(tmp_path / "data")]) == 0
    assert capsys.readouterr().out.startswith("cifar10: 10 training and 2 test rows (12 in all) of shape 32x32x3")
    assert main(["data", "--data-dir", str(tmp_path / "data")]) == 0
    assert "(checksums match, prepared)" in capsys.readouterr().out
    (tmp_path / "data" / "cifar10" / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    assert main(["data", "--data-dir", str(tmp_path / "data")]) == 0
    assert "the prepared cache (checksums match, prepared)" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "cache")
    assert main(["data", "--data-dir", str(tmp_path / "data")]) == 0
    assert "test_batch.bin is missing" in capsys.readouterr().out


def test_prepare_refuses_in_one_line(capsys, tmp_path):
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"truncated")
    assert main(["data", "--data-dir", str(tmp_path), "prepare", "cifar10"]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("fedcos: error: ")
    assert "cifar-10-binary.tar.gz is not the published file" in error
    assert error.count("\n") == 1


def test_class_counts():
    ownership = Ownership.of([np.array([0, 3]), np.array([1, 2, 4])])
    counts = class_counts(np.array([0, 1, 1, 2, 0]), ownership, classes=4)
    assert counts.tolist() == [[1, 0, 1, 0], [1, 2, 0, 0]]


@pytest.mark.parametrize(
    ("dataset", "partition", "clients"),
    [("digits", "shards2", 10), ("digits", "dirichlet0.5", 300), ("synthetic", "natural", 1)],
)
def test_a_partition_is_drawn(tmp_path, capsys, dataset, partition, clients):
    path = tmp_path / "picture.png"
    flags = ["--dataset", dataset, "--partition", partition, "--clients", str(clients), "--plot", str(path)]
    assert main(["partition", *flags]) == 0
    shown = 30 if partition == "natural" else clients
    assert f"{partition}, {shown} clients: " in capsys.readouterr().out
    pixels = np.asarray(Image.open(path).convert("RGB"))
    assert min(pixels.shape[:2]) > 300
    blue = (pixels[..., 2].astype(int) - pixels[..., 0] > 60).mean()
    assert 0.001 < blue < 0.6


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--plot", "picture.gif"], "must end in one of .png, .pdf, .svg"),
        (["--plot", f"{__file__}/picture.png"], "cannot write"),
        (["--partition", "natural"], "no clients of its own"),
        (["--clients", "0"], "at least 1"),
        (["--dataset", "nothing"], "unknown dataset"),
    ],
)
def test_partition_mistakes_are_one_line(flags, complaint, capsys):
    assert main(["partition", *flags]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert complaint in error
