"""One config, run with callbacks."""

import jax

from fedcos_jax.engine.loop import run
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.prepare import prepare
from fedcos_jax.runs.result import history_lists

CONFIG = Config(rounds=2, local_steps=2, batch_size=8, clients=3)


def test_a_result_is_that_of_the_run():
    prepared = prepare(CONFIG)
    reports = []
    result = execute(prepared, [reports.append])
    _, history = run(jax.random.key(0), prepared.experiment)
    assert result["history"] == history_lists(history)
    assert reports[-1].completed == result["rounds"] == 2
