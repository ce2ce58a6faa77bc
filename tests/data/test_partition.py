"""Who owns which rows: every row once, reproducible, and as heterogeneous as the name says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax.data import partition
from fedcos_jax.errors import InputError

NAMES = [
    *(entry.example for entry in partition.PARTITIONS.values()),
    *("mixed70", "mixed0", "mixed100", "shards1", "dirichlet100"),
]
EVEN = ("iid", "sorted", "mixed")
"""Partitions whose clients own equally many rows, up to one."""


def labels_of(rows, classes=10, seed=0):
    return np.random.default_rng(seed).integers(0, classes, rows).astype(np.int32)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_every_row_has_one_owner(name, data, seed):
    clients = data.draw(st.integers(1, 20))
    rows = data.draw(st.integers(2 * clients, 500))
    groups = np.random.default_rng(seed).permutation(np.arange(rows) % clients)
    ownership = partition.build(name, labels_of(rows, seed=seed), clients, seed, groups)
    assert np.array_equal(np.sort(ownership.indices), np.arange(rows))
    assert ownership.indices.dtype == ownership.offsets.dtype == np.int32
    assert len(ownership.offsets) == clients + 1 == ownership.num_clients + 1
    assert (np.diff(ownership.offsets) > 0).all()
    assert np.array_equal(np.concatenate(ownership.parts()), ownership.indices)
    again = partition.build(name, labels_of(rows, seed=seed), clients, seed, groups)
    assert np.array_equal(ownership.indices, again.indices)
    assert np.array_equal(ownership.offsets, again.offsets)
    if name.startswith(EVEN):
        assert np.ptp(np.diff(ownership.offsets)) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_only_random_partitions_depend_on_the_seed(name):
    labels, groups = labels_of(500), np.arange(500) % 5
    first, second = (partition.build(name, labels, 5, seed, groups).indices for seed in (0, 1))
    fixed = name in ("sorted", "natural", "mixed100")
    assert np.array_equal(first, second) == fixed


@pytest.mark.parametrize("word", partition.PARTITIONS)
def test_an_example_is_its_own_word(word):
    entry = partition.PARTITIONS[word]
    found, number = partition.parse(entry.example)
    assert found is entry
    assert (number is None) == (entry.number is None)
    assert (entry.example == word) == (number is None)


def classes_of(ownership, labels):
    return [np.bincount(labels[rows], minlength=10) for rows in ownership.parts()]


def test_sorted_clients_hold_consecutive_classes():
    labels = np.repeat(np.arange(10), 60)[np.random.default_rng(0).permutation(600)]
    counts = classes_of(partition.build("sorted", labels, 5, 0), labels)
    for client, count in enumerate(counts):
        assert set(np.flatnonzero(count)) == {2 * client, 2 * client + 1}


@pytest.mark.parametrize(("name", "share"), [("mixed90", 0.1), ("mixed70", 0.3)])
def test_mixed_share_of_homogeneous_rows(name, share):
    labels = np.repeat(np.arange(10), 1000)
    for client, count in enumerate(classes_of(partition.build(name, labels, 5, 0), labels)):
        own = {2 * client, 2 * client + 1}
        foreign = sum(count[label] for label in range(10) if label not in own)
        # A homogeneous row is of a foreign class with probability 0.8.
        assert foreign == pytest.approx(2000 * share * 0.8, rel=0.15)


def test_mixed_extremes():
    labels = np.repeat(np.arange(10), 50)
    assert np.array_equal(
        partition.mixed(labels, 5, np.random.default_rng(0), 0.0).indices, partition.sorted_by_label(labels, 5).indices
    )
    counts = np.array(classes_of(partition.mixed(labels, 5, np.random.default_rng(0), 1.0), labels))
    assert (counts > 0).sum() > 45


def test_shards_are_pure_and_dealt():
    labels = np.repeat(np.arange(10), 60)
    counts = classes_of(partition.build("shards2", labels, 10, 0), labels)
    assert all((count > 0).sum() <= 2 for count in counts)
    assert len({tuple(np.flatnonzero(count)) for count in counts}) > 3


def test_dirichlet_concentration():
    labels = labels_of(5000)
    spread = [
        np.std(np.array(classes_of(partition.build(f"dirichlet{alpha}", labels, 10, 0), labels)))
        for alpha in (0.05, 1, 1000)
    ]
    assert spread[0] > spread[1] > spread[2]


def test_natural_clients_keep_their_rows():
    groups = np.array([3, 1, 3, 7, 1, 1])
    ownership = partition.natural(groups)
    assert [part.tolist() for part in ownership.parts()] == [[1, 4, 5], [0, 2], [3]]
    assert np.array_equal(partition.build("natural", groups, None, 0, groups).indices, ownership.indices)


@pytest.mark.parametrize(
    ("name", "clients", "message"),
    [
        ("sortet", 5, "unknown partition 'sortet'; did you mean 'sorted'"),
        ("iid5", 5, "takes no number"),
        ("mixed", 5, "needs a number behind its name, like 'mixed90'"),
        ("shards1.5", 5, "needs a number"),
        ("mixed120", 5, r"must lie in \[0, 1\]"),
        ("dirichlet0", 5, "must be positive"),
        ("shards0", 5, "at least 1"),
        ("shards50", 5, "250 shards are more than the 100 rows"),
        ("iid", 0, "number of clients must be at least 1"),
        ("iid", None, "number of clients must be a whole number, got None"),
        ("iid", 3.0, "number of clients must be a whole number, got 3.0"),
        ("dirichlet" + "9" * 400, 5, "must be positive"),
        ("iid", 101, "101 clients are more than the 100 rows"),
        ("natural", 5, "no clients of its own"),
    ],
)
def test_bad_partitions(name, clients, message):
    with pytest.raises(InputError, match=message):
        partition.build(name, labels_of(100), clients, 0)


@pytest.mark.parametrize(
    ("clients", "groups", "message"),
    [
        (3, [0, 0, 1, 1], "2 clients of its own, so the partition 'natural' cannot have 3"),
        (None, [0, 0, 1], "3 rows have a client of their own, but 4 a label"),
    ],
)
def test_natural_clients_that_do_not_fit(clients, groups, message):
    with pytest.raises(InputError, match=message):
        partition.build("natural", labels_of(4), clients, 0, np.array(groups))


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5])
def test_bad_seeds(seed):
    with pytest.raises(InputError, match="the seed must be"):
        partition.build("iid", labels_of(4), 2, seed)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "at least one client"),
        ([np.array([0]), np.array([], int)], "client 1 would own no rows"),
        ([np.array([0.5, 1])], r"whole numbers, got float64 \[2\]"),
        ([np.array([True, False])], r"whole numbers, got bool \[2\]"),
        ([np.zeros((2, 3), int)], r"whole numbers, got int64 \[2, 3\]"),
    ],
)
def test_rows_of_ones_own_that_are_none(parts, message):
    with pytest.raises(InputError, match=message):
        partition.Ownership.of(parts)
