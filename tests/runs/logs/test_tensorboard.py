"""Event files have what is there. `tests/cli/test_run.py` reads them back."""

import pytest

pytest.importorskip("tensorboardX")

from fedcos_jax.runs.logs.tensorboard import event_file


def test_only_what_is_there_is_a_scalar(tmp_path):
    with event_file(tmp_path, anew=False) as write:
        write([{"round": 1, "accuracy": None, "loss": 0.5}])
    (path,) = tmp_path.glob("events.out.tfevents.*")
    content = path.read_bytes()
    assert [name in content for name in (b"loss", b"accuracy", b"round")] == [True, False, False]
