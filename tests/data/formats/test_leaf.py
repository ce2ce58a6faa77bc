"""LEAF's JSON: users and their samples, file by file, and one line about each malformed file."""

import tracemalloc

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data.formats import leaf
from tests.data.leaf_files import content, write

GOOD = content({"ann": ([[1, 2], [3, 4]], [0, 1]), "bob": ([[5, 6]], [1])})


def encode(x, y):
    return np.asarray(x, np.float32), np.asarray(y)


def read(*paths):
    return list(leaf.read_users(paths, encode))


def test_users_come_in_the_order_of_the_files(tmp_path):
    write(tmp_path / "1", GOOD)
    write(tmp_path / "2", content({"cid": ([[7, 8]], [0]), "ann": ([[9, 9]], [1])}))
    found = read(tmp_path / "1", tmp_path / "2")
    assert [(rows.user, len(rows.y)) for rows in found] == [("ann", 2), ("bob", 1), ("cid", 1), ("ann", 1)]
    names = {"bob": 0}
    rows = leaf.join(found, names)
    np.testing.assert_array_equal(rows.x, [[1, 2], [3, 4], [5, 6], [7, 8], [9, 9]])
    np.testing.assert_array_equal(rows.y, [0, 1, 1, 0, 1])
    np.testing.assert_array_equal(rows.owner, [1, 1, 0, 2, 1])
    assert names == {"bob": 0, "ann": 1, "cid": 2}


def test_users_that_the_file_does_not_name_and_users_without_samples_are_left_out(tmp_path):
    """LEAF's division by sample keeps the data of users that it drops, without samples."""
    left = content({"ann": ([[1, 2]], [0]), "dan": ([], [])})
    left["user_data"]["eve"] = {"x": [], "y": []}
    write(tmp_path / "file", left)
    assert [rows.user for rows in read(tmp_path / "file")] == ["ann"]


def test_hierarchies_and_missing_counts_are_no_mistake(tmp_path):
    write(tmp_path / "file", {**GOOD, "hierarchies": ["a play", "a play", "more than users"], "num_samples": None})
    assert len(read(tmp_path / "file")) == 2


def changed(**changes):
    return {**GOOD, **changes}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a file of LEAF: it has no user_data"),
        ({"users": []}, "it has no user_data"),
        (changed(user_data=[]), "it has no user_data"),
        (changed(users="ann"), "its users are no list of names"),
        (changed(users=[1, 2]), "its users are no list of names"),
        (changed(users=["ann", "ann"]), "names a user twice"),
        (changed(users=["ann", "zoe"]), "user_data has no x and y of user 'zoe'"),
        (changed(user_data={"ann": [1], "bob": 2}), "user_data has no x and y of user 'ann'"),
        (changed(num_samples=[2]), "num_samples must be as many numbers as there are users"),
        (changed(num_samples=[2, 7]), "num_samples of user 'bob' is 7, but there are 1 samples"),
        (content({"ann": ([[1]], [0, 1])}), "user 'ann' cannot be read: it has 1 x but 2 y"),
        (content({"ann": ("text", [0])}), "user 'ann' cannot be read: its x and y must be lists"),
        (
            content({"ann": ([[1]], [0]), "bob": ([[1, 2]], [0])}),
            r"user 'bob' have shape \(2,\), those before have \(1,\)",
        ),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path, value, complaint):
    write(tmp_path / "file.json", value)
    with pytest.raises(InputError, match=complaint) as refusal:
        read(tmp_path / "file.json")
    assert str(tmp_path / "file.json") in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_the_encoding_refuses_is_said_with_the_file_and_the_user(tmp_path):
    def refuse(x, y):
        raise InputError("no")

    write(tmp_path / "file.json", GOOD)
    with pytest.raises(InputError, match=r"file.json: the samples of user 'ann' cannot be read: no"):
        list(leaf.read_users([tmp_path / "file.json"], refuse))


def test_memory_is_that_of_the_text_and_the_arrays(tmp_path):
    """As Python objects, these numbers would take 24 bytes each, which is 19 MB."""
    numbers = np.round(np.random.default_rng(0).random((1000, 784)), 3)
    users = {f"user {i}": (numbers[i * 50 : i * 50 + 50].tolist(), [0] * 50) for i in range(20)}
    write(tmp_path / "file.json", content(users))
    size = (tmp_path / "file.json").stat().st_size
    del users
    tracemalloc.start()
    try:
        found = read(tmp_path / "file.json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * size + 1.5 * sum(rows.x.nbytes for rows in found)
    assert peak < 24 * numbers.size
