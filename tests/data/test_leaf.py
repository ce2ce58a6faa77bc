"""Datasets in LEAF's JSON: clients keep their names, test rows keep their owners, in Python and on the command line."""

import jax
import numpy as np
import pytest

import fedcos_jax as fc
from fedcos_jax.cli.main import main
from fedcos_jax.data import LeafKind, leaf, load
from fedcos_jax.data.leaf_kinds import KINDS
from tests.data.leaf_files import SAMPLES, USERS, content, write, write_dataset

TRAIN_USERS = ["f0001_41", "f0002_10", "f0003_07"]


@pytest.mark.parametrize("place", [".", "data"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_folder_becomes_a_dataset(tmp_path, kind, place):
    written = write_dataset(tmp_path / place, kind)
    dataset = fc.from_leaf(tmp_path)
    assert dataset.name == f"leaf_{kind}"
    assert dataset.client_names.tolist() == [*TRAIN_USERS, "f0009_99"]
    assert dataset.classes == KINDS[kind].classes
    for split, examples, owners in (
        ("train", dataset.train, dataset.groups),
        ("test", dataset.test, dataset.test_groups),
    ):
        assert len(examples.x) == sum(USERS[split].values())
        for user, (x, y) in written[split].items():
            mine = dataset.client_names[owners] == user
            np.testing.assert_array_equal(examples.x[mine], KINDS[kind].inputs(x))
            np.testing.assert_array_equal(examples.y[mine], KINDS[kind].labels(y))
    ownership = fc.partition.build("natural", dataset.train.y, None, 0, dataset.groups)
    assert np.diff(ownership.offsets).tolist() == [5, 3, 4]


def test_a_user_may_be_in_several_files(tmp_path):
    for number, rows in enumerate((2, 3)):
        write(tmp_path / "train" / f"{number}.json", content({"ann": ([[0.0, 2.0]] * rows, [number] * rows)}))
    write(tmp_path / "test" / "0.json", content({"ann": ([[1.0, 2.0]], [4])}))
    dataset = fc.from_leaf(tmp_path, name="mine")
    assert (dataset.name, dataset.classes, dataset.groups.tolist()) == ("mine", 5, [0] * 5)
    assert dataset.train.y.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(("kind", "first"), [("numbers", [9, 19]), ("sent140", [22, 23])])
def test_a_tenth_of_undivided_rows_is_for_testing(tmp_path, kind, first):
    """The last rows of texts, which are in the order of time, and every tenth row of others."""
    x = [["", f"word{i}"] if kind == "sent140" else [i, 0] for i in range(24)]
    write(tmp_path / "all_data" / "all_data.json", content({"ann": (x, [0, 1] * 12), "bob": (x[:3], [1, 1, 1])}))
    dataset = fc.from_leaf(tmp_path)
    everything = KINDS[kind].inputs(x)
    np.testing.assert_array_equal(dataset.test.x, everything[first])
    np.testing.assert_array_equal(dataset.train.x[:22], np.delete(everything, first, axis=0))
    assert dataset.groups.tolist() == [0] * 22 + [1] * 3
    assert dataset.test_groups.tolist() == [0, 0]


def test_a_kind_of_ones_own(tmp_path):
    def tokens(x):
        return np.array([[len(word) for word in text.split()] for text in x], np.int32)

    write(tmp_path / "train" / "a.json", content({"ann": (["one three", "two four"], [0, 1])}))
    write(tmp_path / "test" / "a.json", content({"ann": (["five six"], [1])}))
    kind = LeafKind("lengths", tokens, np.array, lambda x, key: x)
    dataset = fc.from_leaf(tmp_path, kind)
    assert dataset.train.x.tolist() == [[3, 5], [3, 4]]
    assert (dataset.name, dataset.classes, dataset.input_shape) == ("leaf_lengths", 2, (2,))
    with pytest.raises(
        fc.InputError, match="user 'ann' cannot be read: the kind lengths makes 2 inputs and 1 labels of 2"
    ):
        fc.from_leaf(tmp_path, kind._replace(labels=lambda y: np.array(y[:1])))


def test_folders_that_do_not_fit(tmp_path):
    with pytest.raises(fc.InputError, match=r"has neither train/\*.json and test/\*.json nor all_data/\*.json"):
        fc.from_leaf(tmp_path)
    with pytest.raises(fc.InputError, match="unknown kind of LEAF data 'femnits'; did you mean 'femnist'"):
        fc.from_leaf(tmp_path, "femnits")
    write(tmp_path / "train" / "a.json", content({"ann": ([[1, 2]], [0])}))
    with pytest.raises(fc.InputError, match="has neither"):
        fc.from_leaf(tmp_path)
    write(tmp_path / "test" / "a.json", content({"ann": ([[1]], [0])}))
    with pytest.raises(fc.InputError, match=r"training samples in .* have shape \(2,\), test samples \(1,\)"):
        fc.from_leaf(tmp_path)
    write(tmp_path / "test" / "a.json", content({"ann": ([], [])}))
    with pytest.raises(fc.InputError, match="has no test samples"):
        fc.from_leaf(tmp_path)
    write(tmp_path / "train" / "a.json", content({}))
    with pytest.raises(fc.InputError, match="has no train samples"):
        fc.from_leaf(tmp_path)
    write(tmp_path / "only" / "all_data" / "a.json", content({}))
    with pytest.raises(fc.InputError, match="has no train samples"):
        fc.from_leaf(tmp_path / "only")


@pytest.mark.parametrize("place", ["leaf_femnist", "femnist", "femnist/data", "."])
def test_the_command_line_finds_what_leafs_scripts_write(tmp_path, place, capsys):
    """With --data-dir at the folder `data` of LEAF's repository, or at the files, under a name that is no path."""
    write_dataset(tmp_path / place, "femnist")
    flags = ["--dataset", "leaf_femnist", "--partition", "natural", "--data-dir", str(tmp_path)]
    assert main(["run", *flags, "--rounds", "1", "--local-steps", "1", "--batch-size", "2", "--quiet"]) == 0
    assert "leaf_femnist" in capsys.readouterr().out


@pytest.mark.parametrize("name", leaf.ENTRIES)
def test_every_name_trains(tmp_path, name):
    kind = name.removeprefix("leaf_")
    write_dataset(tmp_path / kind, kind)
    dataset = load(name, data_dir=tmp_path)
    experiment = fc.Experiment(
        method=fc.fedavg(),
        optimizer=fc.client_sgd(0.1),
        data=fc.federate(dataset, fc.partition.natural(dataset.groups)),
        model=fc.models.build("lstm" if kind == "shakespeare" else "mlp", dataset.input_shape, dataset.classes),
        schedule=fc.Schedule(rounds=1, local_steps=1, batch_size=2),
    )
    _, history = fc.run(jax.random.key(0), experiment)
    assert np.isfinite(history.evaluation.loss).all()


def test_another_draw_is_never_taken_from_the_cache(tmp_path, capsys):
    """LEAF's draws have no published digests, so the cache serves only the files that it was made of."""
    write_dataset(tmp_path / "femnist", "femnist")
    assert main(["data", "prepare", "leaf_femnist", "--data-dir", str(tmp_path)]) == 0
    assert "12 training and 5 test rows (17 in all) of shape 28x28, 62 classes, 3 clients" in capsys.readouterr().out
    assert main(["data", "--data-dir", str(tmp_path)]) == 0
    described = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("leaf_femnist"))
    assert described.endswith(f"LEAF's train and test in {tmp_path / 'femnist'} (prepared)")
    with pytest.raises(fc.InputError, match="leaf_femnist was not found"):
        load("leaf_femnist")
    before = load("leaf_femnist", data_dir=tmp_path)
    write(tmp_path / "femnist" / "train" / "more.json", content({"zoe": ([[1.0] * 784], [7])}))
    assert len(load("leaf_femnist", data_dir=tmp_path).train.y) == len(before.train.y) + 1


def test_a_malformed_file_is_one_line_of_the_command(tmp_path, capsys, cached):
    write_dataset(tmp_path, "femnist")
    write(tmp_path / "train" / "another.json", '{"users": ["ann"')
    assert main(["data", "prepare", "leaf_femnist", "--data-dir", str(tmp_path)]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert "another.json is not JSON" in error
    assert cached() == []
