"""Generated text: it follows its chains, clients differ in part, and each client has its own rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import InputError, federate, load
from fedcos_jax.data.dialects import LONGEST, OWN_SHARE, SHORTEST, VOCABULARY, generate, successors, write
from fedcos_jax.data.partition import build


def test_text_follows_its_chain():
    chances = successors(3, np.random.default_rng(1))
    text = write(chances, 20_000, np.random.default_rng(2))
    for client in range(3):
        pairs = np.zeros_like(chances[0])
        np.add.at(pairs, (text[client, :-1], text[client, 1:]), 1)
        visits = pairs.sum(axis=1, keepdims=True)
        expected = visits * chances[client]
        # Bernstein's bound on a count, exceeded once in a million.
        assert (np.abs(pairs - expected) <= np.sqrt(2 * 15 * expected) + 15).all()


def test_dialects_share_part_of_the_language():
    chances = successors(400, np.random.default_rng(0))
    np.testing.assert_allclose(chances.sum(axis=-1), 1)
    rows = chances.transpose(1, 0, 2)
    same = [np.unique(row, axis=0, return_counts=True)[1].max() / len(row) for row in rows]
    np.testing.assert_allclose(same, 1 - OWN_SHARE, atol=0.13)


@given(clients=st.integers(1, 12), window=st.integers(1, 30))
@settings(max_examples=10, deadline=None)
def test_every_client_has_its_own_rows(clients, window):
    dataset = generate(clients, window)
    assert dataset.input_shape == (window,)
    assert dataset.classes == len(VOCABULARY)
    sizes = np.bincount(dataset.groups, minlength=clients)
    assert len(sizes) == clients
    assert (sizes >= 0.8 * SHORTEST - 1).all()
    assert (sizes <= 0.8 * LONGEST).all()
    assert dataset.train.y.max() < dataset.classes


def test_a_label_is_the_character_behind_its_window():
    dataset = load("dialects(4,6)")
    windows = np.asarray(dataset.preprocess(dataset.train.x, None))
    following = (dataset.groups[1:] == dataset.groups[:-1]) & (np.diff(dataset.train.x) == 1)
    np.testing.assert_array_equal(windows[1:][following][:, -1], dataset.train.y[:-1][following])
    assert following.sum() == len(windows) - 4
    data = federate(dataset, build("natural", dataset.train.y, None, 0, dataset.groups))
    assert data.num_clients == 4


def test_it_is_the_same_text_every_time():
    first, second = load("dialects(3)"), load("dialects(3)")
    np.testing.assert_array_equal(first.train.y, second.train.y)
    assert first.name == "dialects(3,5)"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dialects(0)", "clients must lie in 1..10000"),
        ("dialects(5,0)", "the window must lie in"),
        ("dialects(x)", r"cannot read the numbers of 'dialects\(x\)'; an example is 'dialects\(143,5\)'"),
    ],
)
def test_mistakes_are_named(name, message):
    with pytest.raises(InputError, match=message):
        load(name)
