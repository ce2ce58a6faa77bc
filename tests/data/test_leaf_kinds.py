"""How the samples of LEAF's datasets are read, and one line about those that do not fit."""

import zlib

import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data.leaf_kinds import BUCKETS, KINDS, WORDS, detect, word_numbers
from fedcos_jax.data.text import VOCABULARY
from tests.data import leaf_files

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", leaf_files.SAMPLES)
def test_the_first_sample_says_the_kind(kind):
    x, y = leaf_files.SAMPLES[kind](RNG, 1)
    assert detect(x[0], y[0]) is KINDS[kind]


@pytest.mark.parametrize("x", [[0.5, -1.0], [0.5] * 783, [2.0] * 784])
def test_other_numbers_are_numbers(x):
    assert detect(x, 1) is KINDS["numbers"]


@pytest.mark.parametrize(("x", "y"), [("000001.jpg", 1), ([["a", "b"]], {"target_tokens": []}), ([], 0), (None, 0)])
def test_what_cannot_be_told_is_asked_for(x, y):
    """CelebA has names of files, and Reddit has lists of tokens."""
    with pytest.raises(InputError, match="say the kind, one of femnist, shakespeare, sent140, numbers"):
        detect(x, y)


def test_pixels_become_the_bytes_that_they_were():
    pixels = np.arange(784) % 256
    stored = KINDS["femnist"].inputs([(pixels / 255).tolist()])
    np.testing.assert_array_equal(stored, pixels.reshape(1, 28, 28))
    assert stored.dtype == np.uint8
    seen = KINDS["femnist"].preprocess(jnp.asarray(stored), None)
    np.testing.assert_allclose(seen, (pixels / 255).reshape(1, 28, 28), rtol=1e-6)


def test_characters_become_their_places_in_the_vocabulary():
    kind = KINDS["shakespeare"]
    stored = kind.inputs(["To be", "or no"])
    assert ["".join(VOCABULARY[i] for i in row) for row in stored] == ["To be", "or no"]
    assert kind.labels([" ", "t"]).tolist() == [VOCABULARY.index(" "), VOCABULARY.index("t")]
    assert kind.preprocess(jnp.asarray(stored), None).dtype == jnp.int32


def test_tweets_become_bags_of_words():
    kind = KINDS["sent140"]
    text = "It's GOOD, so good! :-)"
    words = ["it's", "good", ",", "so", "good", "!"]
    numbers = [zlib.crc32(word.encode()) % 2048 for word in words]
    stored = kind.inputs([["id", "date", "query", "user", text], ["", "", "", "", ""]])
    assert stored.shape == (2, WORDS)
    assert stored[0].tolist() == numbers + [BUCKETS] * (WORDS - len(words))
    np.testing.assert_array_equal(kind.inputs([text]), stored[:1])
    bags = np.asarray(kind.preprocess(jnp.asarray(stored), None))
    expected = np.zeros((2, BUCKETS))
    np.add.at(expected[0], numbers, 1)
    np.testing.assert_array_equal(bags, expected)
    assert expected.max() == 2


def test_a_long_text_is_cut():
    assert len(word_numbers("word " * 100)) == WORDS
    assert BUCKETS not in word_numbers("word " * 100)


@pytest.mark.parametrize(("published", "labels"), [([0, 1, 0], [0, 1, 0]), ([0, 4, 4], [0, 1, 1])])
def test_both_ways_of_publishing_a_sentiment(published, labels):
    assert KINDS["sent140"].labels(published).tolist() == labels


def test_whole_numbers_may_be_published_as_decimals():
    assert KINDS["numbers"].labels([3.0, 0]).tolist() == [3, 0]
    images = KINDS["numbers"].inputs(np.full((2, 784), -0.4).tolist())
    assert (images.shape, images.dtype) == ((2, 28, 28), np.float32)


@pytest.mark.parametrize(
    ("kind", "part", "values", "complaint"),
    [
        ("femnist", "inputs", [[0.5] * 783], r"images of 784 numbers, got the shape \(783,\)"),
        ("femnist", "inputs", [[0.0] * 783 + [1.5]], "pixels are 0 to 1.5 instead of 0 to 1: say kind='numbers'"),
        ("femnist", "inputs", [[0.5] * 784, [0.5]], "lists of numbers of equal length"),
        ("femnist", "labels", [3, 62], r"y is 3 to 62, outside 0..61"),
        ("femnist", "labels", [-1], r"y is -1 to -1, outside 0..61"),
        ("numbers", "inputs", [["a"]], "lists of numbers of equal length"),
        ("numbers", "inputs", [[float("nan")]], "not finite"),
        ("numbers", "labels", [0.5], "one whole number per sample, got '0.5'"),
        ("numbers", "labels", [True], "one whole number per sample"),
        ("numbers", "labels", [[1], [1, 2]], "one whole number per sample"),
        ("numbers", "labels", [2**40], "outside 0..1048575"),
        ("shakespeare", "inputs", ["ab", "c"], "texts of equal length"),
        ("shakespeare", "inputs", [["a"]], "texts of equal length"),
        ("shakespeare", "inputs", ["caf\xe9"], "'é', which is outside the vocabulary"),
        ("shakespeare", "labels", ["ab"], "single characters"),
        ("sent140", "inputs", [3], "must be texts"),
        ("sent140", "inputs", [["a", 3]], "must be texts"),
        ("sent140", "labels", [0, 2], "0 for negative and 1 or 4 for positive"),
    ],
)
def test_samples_that_do_not_fit(kind, part, values, complaint):
    with pytest.raises(InputError, match=complaint):
        getattr(KINDS[kind], part)(values)
