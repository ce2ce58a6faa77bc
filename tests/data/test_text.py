"""Next-character datasets: windows, labels, split and clients, against plain Python."""

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.data import federate
from fedcos_jax.data.partition import build
from fedcos_jax.data.text import next_character

WINDOW = 80


def tiny_dataset():
    """Three texts and their dataset."""
    texts = ["".join(chr(ord("a") + (i * 7 + k) % 26) for i in range(WINDOW + 5 + k)) for k in range(3)]
    codes = np.frombuffer("".join(texts).encode(), np.uint8) - ord("a")
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return texts, next_character("letters", codes, offsets, window=WINDOW, classes=26)


def test_samples_are_the_windows_of_each_text_split_by_time():
    texts, dataset = tiny_dataset()
    decode = lambda codes: "".join(chr(ord("a") + code) for code in codes)  # noqa: E731
    expected_train, expected_test, owners = [], [], []
    for client, text in enumerate(texts):
        samples = [(text[i : i + WINDOW], text[i + WINDOW]) for i in range(len(text) - WINDOW)]
        cut = int(0.8 * len(samples))
        expected_train += samples[:cut]
        expected_test += samples[cut:]
        owners += [client] * cut
    for examples, expected in ((dataset.train, expected_train), (dataset.test, expected_test)):
        windows = dataset.preprocess(jnp.asarray(examples.x), None)
        found = [(decode(w), decode([y])) for w, y in zip(np.asarray(windows), examples.y, strict=True)]
        assert found == expected
    assert dataset.groups.tolist() == owners
    assert dataset.input_shape == (WINDOW,)


def test_a_text_is_a_client_and_windows_are_cut_inside_the_program():
    _, dataset = tiny_dataset()
    data = federate(dataset, build("natural", dataset.train.y, None, 0, dataset.groups))
    assert data.sizes.tolist() == [4, 4, 5]
    batch = jax.jit(lambda data, rows: data.preprocess(data.train.x[rows], jax.random.key(0)))(data, jnp.arange(4))
    assert (batch.shape, batch.dtype) == ((4, WINDOW), jnp.int32)
