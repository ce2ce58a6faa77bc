"""A user's own arrays, and training without augmentation."""

import jax
import numpy as np
import pytest

import fedcos_jax as fc
from fedcos_jax.data import partition
from fedcos_jax.data.augment import crop_and_flip
from fedcos_jax.data.dataset import Dataset
from fedcos_jax.types import Examples

X, Y = np.arange(24, dtype=np.float64).reshape(6, 4), np.array([0, 1, 2, 0, 1, 2])


def test_arrays_become_federated_data():
    dataset = fc.from_arrays((X, Y), (X[:2], Y[:2]), groups=["b", "a", "b", "a", "b", "b"])
    assert (dataset.classes, dataset.input_shape) == (3, (4,))
    data = fc.federate(dataset, partition.build("natural", dataset.train.y, None, 0, dataset.groups))
    np.testing.assert_array_equal(data.sizes, [2, 4])
    np.testing.assert_array_equal(data.preprocess(data.train.x, None), X)


def test_preprocessing_of_ones_own():
    dataset = fc.from_arrays((X, Y), (X, Y), preprocess=lambda x, key: x[:, :2] / 10)
    assert dataset.input_shape == (2,)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ((X, Y[:4]), "training inputs and labels are 6 and 4 rows"),
        ((X[:0], Y[:0]), "0 and 0 rows"),
        ((X, Y.astype(float)), "training labels are float64, test labels int32: store both alike"),
        ((X, np.stack([Y, Y], 1)), "training labels have shape (2,), test labels ()"),
        ((X, Y * np.nan), "not finite"),
        ((X, np.array(list("abcdef"))), "training labels must be numbers, got <U1"),
        ((X, Y + 2**40), "past 1,048,576 classes"),
        ((X, Y - 1), "training labels must be whole numbers from 0"),
        ((X, np.where(Y == 2, 2**40, Y)), "training labels go up to 1099511627776, past 1,048,576 classes"),
        ((X, np.where(Y == 2, 2**31 - 1, Y)), "number the classes by np.unique(labels, return_inverse=True)"),
        ((X[:, :3], Y), "training inputs have shape (3,), test inputs (4,)"),
        ((X.astype(np.uint8), Y), "training inputs are uint8, test inputs float64: store both alike"),
        (([[1, 2], [3]], [0, 1]), "training inputs differ in shape from row to row"),
        ((["a", "b"], [0, 1]), "training inputs must be numbers, got <U1"),
        ((1.0, 0), "training inputs and labels must be arrays with one entry per row"),
    ],
)
def test_arrays_that_do_not_fit(train, message):
    with pytest.raises(fc.InputError) as error:
        fc.from_arrays(train, (X, Y))
    assert message in str(error.value)


def test_clients_without_rows_are_refused():
    owners = partition.Ownership(np.arange(40), np.array([0, 10, 10, 40]))
    with pytest.raises(ValueError, match="client 1 would own no rows"):
        fc.federate(fc.load("digits"), owners)


@pytest.mark.parametrize(
    ("indices", "offsets", "message"),
    [
        ([0, 5], [0, 1, 2], "names rows 0 to 5, but the dataset has training rows 0 to 4"),
        ([-1, 1], [0, 1, 2], "names rows -1 to 1"),
        ([0, 1], [0, 1], "must go from 0 to its 2 indices"),
        ([0, 1], [1, 2], "must go from 0 to its 2 indices"),
        ([0, 1], [0], "must go from 0 to its 2 indices"),
        ([0.0, 1.0], [0, 1, 2], "the indices of an ownership must be a list of whole numbers"),
    ],
)
def test_an_ownership_of_another_dataset_is_refused(indices, offsets, message):
    dataset = fc.from_arrays((X[:5], Y[:5]), (X, Y))
    with pytest.raises(fc.InputError) as error:
        fc.federate(dataset, partition.Ownership(np.array(indices), np.array(offsets)))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("cohorts", "message"),
    [
        ([0, 1], "got int64 [2]"),
        ([[0, 1], [2]], "cohorts must be whole numbers, as many in each round as in the others"),
        ([[0.0, 1.0]], "got float64 [1, 2]"),
        (np.zeros((0, 2), int), "got int64 [0, 2]"),
        ([[0, 1], [1, 3]], "cohorts must name clients 0 to 2, got 0 to 3"),
        ([[0, -1]], "got -1 to 0"),
        ([[0, 1], [2, 2]], "the cohort of round 1 names a client twice"),
    ],
)
def test_cohorts_that_do_not_fit(cohorts, message):
    owners = partition.build("iid", fc.load("digits").train.y, 3, 0)
    with pytest.raises(fc.InputError) as error:
        fc.federate(fc.load("digits"), owners, cohorts)
    assert message in str(error.value)


def test_groups_that_do_not_fit():
    with pytest.raises(fc.InputError, match="a client for each training row"):
        fc.from_arrays((X, Y), (X, Y), groups=[0, 1])


def test_unaugmented_training_sees_what_evaluation_sees():
    images = np.random.default_rng(0).integers(0, 256, (16, 8, 8, 3), dtype=np.uint8)
    examples = Examples(images, np.zeros(16, np.int32))
    dataset = Dataset("images", examples, examples, 1, crop_and_flip((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)))
    key = jax.random.key(0)
    at_evaluation = np.asarray(dataset.preprocess(images, None))
    assert not np.array_equal(dataset.preprocess(images, key), at_evaluation)
    np.testing.assert_array_equal(dataset.unaugmented().preprocess(images, key), at_evaluation)


@pytest.mark.parametrize("labels", [np.ones((6, 2), int), np.ones((6, 3), bool), np.linspace(0, 1, 6)])
def test_labels_that_are_not_classes(labels):
    dataset = fc.from_arrays((X, labels), (X, labels))
    assert dataset.classes is None
    assert dataset.train.y.shape == labels.shape
    assert dataset.train.y.dtype.kind == labels.dtype.kind
    with pytest.raises(fc.InputError, match="predicts classes"):
        fc.models.build("mlp", dataset.input_shape, dataset.classes)
    with pytest.raises(fc.InputError, match="choose iid, natural, or rows of your own"):
        fc.partition.build("sorted", dataset.train.y, 2, 0)
    data = fc.federate(dataset, fc.partition.build("iid", dataset.train.y, 2, 0))
    assert data.class_rows is None


def test_test_rows_have_owners_in_the_natural_partition():
    groups, own = ["b", "a", "b", "c", "a", "c"], ["c", "c", "a", "b", "a", "a"]
    dataset = fc.from_arrays((X, Y), (X, Y), groups=groups, test_groups=own)
    assert dataset.client_names.tolist() == ["a", "b", "c"]
    natural = fc.partition.build("natural", Y, 3, 0, dataset.groups)
    assert fc.federate(dataset, natural).test_owners.tolist() == [2, 2, 0, 1, 0, 0]
    iid = fc.federate(dataset, fc.partition.build("iid", Y, 3, 0))
    assert iid.test_owners is None
    assert iid.class_rows.tolist() == np.bincount(Y).tolist()


@pytest.mark.parametrize(
    ("groups", "test_groups", "message"),
    [
        (None, "aaaaaa", "test_groups need groups"),
        ("aabbcc", "aabbc", "a client for each test row"),
        ("aabbcc", "aabbxy", "test_groups name x, y, who have no training rows"),
    ],
)
def test_owners_of_test_rows_that_do_not_fit(groups, test_groups, message):
    with pytest.raises(fc.InputError, match=message):
        fc.from_arrays((X, Y), (X, Y), groups=groups and list(groups), test_groups=list(test_groups))
