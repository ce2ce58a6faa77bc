"""`load` and the commands around it, as a user meets them."""

import shutil

import numpy as np
import pytest
from PIL import Image

from fedcos_jax.cli.main import main
from fedcos_jax.data import DATASETS, cifar
from tests.data.tiny_cifar import TinyCifar


@pytest.fixture(autouse=True)
def no_data_of_this_machine(monkeypatch):
    monkeypatch.delenv("FEDCOS_DATA_DIR", raising=False)


def test_data_lists_what_is_found_and_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FEDCOS_CACHE_DIR", str(tmp_path / "cache"))
    tiny_cifar10 = TinyCifar(cifar.CIFAR10)
    tiny_cifar10.write("binary", tmp_path / "data" / "cifar10")
    tiny_cifar10.publish(monkeypatch)
    assert main(["data", "--data-dir", str(tmp_path / "data")]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines.keys() == DATASETS.keys()
    assert "60,000 + 10,000 rows  28x28" in lines["fashion_mnist"]
    assert "embedded" in lines["digits"]
    assert "as in its files rows  80" in lines["leaf_shakespeare"]
    assert "not found: get LEAF's train and test folders of sent140" in lines["leaf_sent140"]
    assert "112,800 + 18,800 rows  28x28     not found: get gzip.zip of EMNIST" in lines["emnist"]
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


@pytest.mark.parametrize(
    ("dataset", "partition", "clients"),
    [("digits", "shards2", 10), ("digits", "dirichlet0.5", 300), ("synthetic", "natural", 30)],
)
def test_a_partition_is_drawn(tmp_path, capsys, dataset, partition, clients):
    path = tmp_path / "picture.png"
    flags = ["--dataset", dataset, "--partition", partition, "--clients", str(clients), "--plot", str(path)]
    assert main(["partition", *flags]) == 0
    assert f"{partition}, {clients} clients: " in capsys.readouterr().out
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
        (["--dataset", "dialects(4)", "--partition", "natural", "--clients", "3"], "4 clients of its own"),
        (["--dataset", "nothing"], "unknown dataset"),
    ],
)
def test_partition_mistakes_are_one_line(flags, complaint, capsys):
    assert main(["partition", *flags]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert complaint in error
