"""One config, or several in as few programs as possible."""

import dataclasses

import jax
import numpy as np
import pytest

from fedcos_jax.engine import sweep
from fedcos_jax.engine.loop import run
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import execute, run_together
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


@pytest.mark.parametrize(
    ("changes", "programs"),
    [
        ([{"method": "FedAvg"}, {"method": "FedProx(0.1)"}, {"method": "FedOpt(1.5)+FedCos(0.1)"}], 1),
        ([{"method": "FedAvg"}, {"method": "SCAFFOLD"}], 2),
        ([{"lr": 0.1}, {"epsilon": 1e-4}, {"partition": "iid", "seed": 3}], 1),
    ],
    ids=["methods of the paper", "another structure", "numbers"],
)
def test_configs_together_are_configs_alone(changes, programs):
    configs = [dataclasses.replace(CONFIG, **change) for change in changes]
    before = sweep.compiled_programs()
    finished = [one for batch in run_together(configs, CONFIG.load(), 1) for one in batch]
    assert sweep.compiled_programs() - before <= programs
    assert {one.config.identity["method"] for one in finished} == {config.method for config in configs}
    for one in finished:
        alone = execute(prepare(one.config))["history"]
        np.testing.assert_allclose(history_lists(one.history)["train_loss"], alone["train_loss"], rtol=1e-4)
        assert one.seconds > 0
