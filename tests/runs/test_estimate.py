"""What a run will need, from its own compiled program."""

import pytest

from fedcos_jax.models import num_parameters
from fedcos_jax.runs import estimate as module
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.estimate import Estimate, estimate
from fedcos_jax.runs.prepare import prepare

CONFIG = Config(rounds=5, local_steps=3, batch_size=8, clients=2, devices=1)


@pytest.mark.parametrize("timed_seconds", [4.0, 1e-9], ids=["a whole round", "a few steps of it"])
def test_an_estimate(monkeypatch, timed_seconds):
    monkeypatch.setattr(module, "TIMED_SECONDS", timed_seconds)
    prepared = prepare(CONFIG)
    result = estimate(prepared)
    assert result.parameters == num_parameters(prepared.experiment.model)
    assert result.program_bytes > result.dataset_bytes > 0
    assert 0 < result.round_seconds < 10
    assert result.seconds > result.compile_seconds > 0


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "3 s: 1 rounds"), (600, "10 min: 1 rounds"), (36_000, "10.0 h: 1 rounds")]
)
def test_an_estimate_for_readers(seconds, words):
    lines = Estimate(10, 2_000_000, 3_000_000_000, 2, 0.0, float(seconds), 1).lines()
    assert words in lines[-1]
    assert "3.00 GB for the compiled round on each of 2 devices, 2.0 MB of it the dataset" in lines[1]
