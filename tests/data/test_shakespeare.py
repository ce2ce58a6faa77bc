"""Shakespeare: LEAF's rules on a small text, and the paper's counts on the complete works."""

import gzip
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data import federate, load, shakespeare
from fedcos_jax.data.partition import build

WINDOW = shakespeare.WINDOW
TEXT = """
THE SONNETS

by William Shakespeare

  Nobody. This is no play.
    Nor this.
  Somebody. Nor that.

A SHORT PLAY


by William Shakespeare

Stage direction
  FIRST LORD. One,
    two.
  Exeunt omnes, pursued
  Lady. Three;
  First Lord. four,
    five   and six.
   LADY. three spaces are no speech
    seven.
    eight.
  SILENT MAN. Two lines,
    no more.

MONOLOGUE

by William Shakespeare
  HERMIT. a
    b
    c

THE COMEDY OF ERRORS

by William Shakespeare

DUKE. Merchant,
plead no more;
<<A NOTICE>>
not a word
ACT II. SCENE 1
nor this
DROMIO. I
will

go.
DUKE. Well.
"""


def test_speeches_are_told_apart_by_leafs_rules():
    roles = shakespeare.parse(TEXT.splitlines())
    assert roles == {
        ("A SHORT PLAY", "FIRST LORD"): ["One,", "two.", "four,", "five   and six.", "seven.", "eight."],
        ("THE COMEDY OF ERRORS", "DUKE"): ["Merchant,", "plead no more;", "Well."],
        ("THE COMEDY OF ERRORS", "DROMIO"): ["I", "will", "", "go."],
    }


def test_lines_are_joined_and_runs_of_spaces_collapse():
    roles = {("A Play", "LORD"): ["x" * 70 + "  y", "", "zzzzzzzz"], ("A Play", "PAGE"): ["short", "too", "short"]}
    assert shakespeare.role_texts(roles) == {"A_Play_LORD": "x" * 70 + " y zzzzzzzz "}


def test_the_last_role_is_cut_to_the_number_of_samples():
    texts = {f"role {i}": "a" * (WINDOW + 10) for i in range(9)}
    chosen = shakespeare.choose(texts, clients=4, samples=33)
    assert [len(text) - WINDOW for text in chosen] == [10, 10, 10, 3]
    with pytest.raises(InputError, match="more samples"):
        shakespeare.choose(texts, clients=4, samples=30)


def tiny_dataset():
    texts = ["".join(chr(ord("a") + (i * 7 + k) % 26) for i in range(WINDOW + 5 + k)) for k in range(3)]
    return texts, shakespeare.build(shakespeare.encode(texts))


def test_samples_are_the_windows_of_each_role_split_by_time():
    texts, dataset = tiny_dataset()
    decode = lambda codes: "".join(shakespeare.VOCABULARY[code] for code in codes)  # noqa: E731
    expected_train, expected_test, owners = [], [], []
    for role, text in enumerate(texts):
        samples = [(text[i : i + WINDOW], text[i + WINDOW]) for i in range(len(text) - WINDOW)]
        cut = int(0.8 * len(samples))
        expected_train += samples[:cut]
        expected_test += samples[cut:]
        owners += [role] * cut
    for examples, expected in ((dataset.train, expected_train), (dataset.test, expected_test)):
        windows = dataset.preprocess(jnp.asarray(examples.x), None)
        found = [(decode(w), decode([y])) for w, y in zip(np.asarray(windows), examples.y, strict=True)]
        assert found == expected
    assert dataset.groups.tolist() == owners
    assert dataset.input_shape == (WINDOW,)


def test_a_role_is_a_client_and_windows_are_cut_inside_the_program():
    _, dataset = tiny_dataset()
    data = federate(dataset, build("natural", dataset.train.y, 0, 0, dataset.groups))
    assert data.sizes.tolist() == [4, 4, 5]
    batch = jax.jit(lambda data, rows: data.preprocess(data.train.x[rows], jax.random.key(0)))(data, jnp.arange(4))
    assert (batch.shape, batch.dtype) == ((4, WINDOW), jnp.int32)


def test_characters_outside_the_vocabulary_are_refused():
    with pytest.raises(InputError, match="outside the vocabulary"):
        shakespeare.encode(["fine", "caf\xe9"])


def test_the_vocabulary_is_leafs():
    assert len(shakespeare.VOCABULARY) == len(set(shakespeare.VOCABULARY)) == 80


def test_another_text_is_refused_and_nothing_is_cached(tmp_path, cached):
    (tmp_path / "t8.shakespeare.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(InputError, match="not the published one"):
        load("shakespeare", data_dir=tmp_path)
    (tmp_path / "t8.shakespeare.txt.gz").write_bytes(gzip.compress(TEXT.encode())[:200])
    with pytest.raises(InputError, match="damaged"):
        load("shakespeare", data_dir=tmp_path)
    assert cached() == []


def test_the_complete_works_have_leafs_counts(real_data):
    lines = shakespeare._lines(real_data / "shakespeare" / "t8.shakespeare.txt.gz")
    roles = shakespeare.parse(lines)
    texts = shakespeare.role_texts(roles)
    assert (len({play for play, _ in roles}), len(texts)) == (36, 1130)
    assert sum(len(text) - WINDOW for text in texts.values()) == 4_226_206
    assert len(set("".join(texts.values()))) == 79


def test_the_paper_has_143_roles_and_517106_samples(real):
    dataset = real("shakespeare")
    assert (len(dataset.train.y), len(dataset.test.y)) == (413_630, 103_476)
    assert len(dataset.train.y) + len(dataset.test.y) == shakespeare.SAMPLES == 517_106
    assert np.unique(dataset.groups).tolist() == list(range(143))
    assert dataset.classes == 80
    labels = np.bincount(np.concatenate([dataset.train.y, dataset.test.y]), minlength=80)
    assert shakespeare.VOCABULARY[labels.argmax()] == " "


def test_memory_stays_within_three_times_the_text(real_data):
    raw = 5_458_199
    tracemalloc.start()
    try:
        dataset = load("shakespeare", data_dir=real_data)
        data = federate(dataset, build("natural", dataset.train.y, 0, 0, dataset.groups))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(data)) < 3 * raw
    assert peak < 3 * raw
