"""Pickles: the arrays of a batch come through, code does not."""

import contextlib
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import InputError
from fedcos_jax.data.formats.pickles import read_batch


class Calls:
    """Pickles as a call of any function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile_pickles(target: str) -> dict[str, bytes]:
    command = f"touch {target}"
    return {
        "os.system": pickle.dumps({b"data": Calls(os.system, command)}),
        "eval": pickle.dumps({b"data": Calls(eval, f"open({target!r}, 'w')")}),
        "open": pickle.dumps(Calls(open, target, "w")),
        "os.system, protocol 0": f"cposix\nsystem\n(S'{command}'\ntR.".encode(),
        "getattr": pickle.dumps({b"data": Calls(getattr, np.ndarray, "tofile")}),
        "numpy.save": pickle.dumps({b"data": Calls(np.save, target, np.zeros(1))}),
        "numpy.ndarray.tofile by name": b"cnumpy\nndarray.tofile\n.",
        "dtype of objects": pickle.dumps({b"data": np.array([Calls(os.system, command)], object)}, protocol=3),
    }


@pytest.mark.parametrize("attack", hostile_pickles(""))
def test_a_hostile_pickle_is_refused_and_does_nothing(tmp_path, attack):
    target = tmp_path / "owned"
    with pytest.raises(InputError, match="batch 1 is refused"):
        read_batch(hostile_pickles(str(target))[attack], "batch 1")
    assert not target.exists()


def test_the_attack_would_work_on_an_ordinary_unpickler(tmp_path):
    target = tmp_path / "owned"
    pickle.loads(hostile_pickles(str(target))["os.system"])
    assert target.exists()


def python2_batch(rows: np.ndarray) -> bytes:
    """The opcodes by which Python 2 wrote the originals: byte strings, and numpy under its old name."""
    text = lambda s: b"U" + bytes([len(s)]) + s  # noqa: E731
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|")
    dtype += b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    shape = b"".join(b"J" + size.to_bytes(4, "little") for size in rows.shape)
    content = b"T" + rows.size.to_bytes(4, "little") + rows.tobytes()
    start = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
    array = start + b"(K\x01" + shape + b"\x86" + dtype + b"\x89" + content + b"tb"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"]K\x05au."


def test_a_python_2_pickle_of_an_array_is_read():
    rows = np.arange(2 * 300, dtype=np.uint8).reshape(2, 300)
    batch = read_batch(python2_batch(rows), "batch")
    np.testing.assert_array_equal(batch["data"], rows)
    assert batch["labels"] == [5]


@pytest.mark.parametrize("content", [b"", b"\x80", pickle.dumps([1, 2]), pickle.dumps({b"data": 1.5})[:-3]])
def test_what_is_no_batch_is_said_in_one_line(content):
    with pytest.raises(InputError) as refusal:
        read_batch(content, "batch 1")
    assert str(refusal.value).startswith("batch 1 is")
    assert "\n" not in str(refusal.value)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_never_raise_anything_else(content):
    with contextlib.suppress(InputError):
        assert isinstance(read_batch(content, "batch"), dict)
