"""Files appear whole or not at all."""

import json

import pytest

from fedcos_jax.errors import InputError
from fedcos_jax.runs import files


def test_a_result_reads_as_it_was_written(tmp_path):
    result = {"accuracy": 1.5, "history": {"round": [1, 2], "loss": [None, 0.5]}, "name": "é"}
    path = tmp_path / "new" / "result.json"
    files.write(path, result)
    assert files.read(path) == result
    assert json.loads(path.read_text(encoding="utf-8")) == result
    assert [one.name for one in path.parent.iterdir()] == ["result.json"]


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    files.write_text(path, "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(InputError, match=r"cannot write .*result.json: No space left on device"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


def test_places_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is a folder"):
        files.require_writable(tmp_path)
    with pytest.raises(InputError, match="is not a writable folder"):
        files.require_writable(tmp_path / "file" / "result.json")
    files.require_writable(tmp_path / "a" / "b" / "result.json")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("text", ["", "{", "\x00"])
def test_what_is_not_json_is_one_line(tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(InputError, match="cannot read the result"):
        files.read(tmp_path / "result.json")
