"""Many configs in as few programs as possible, each with the numbers of a run of its own."""

import dataclasses

import jax
import numpy as np
import pytest

from fedcos_jax.engine import batches
from fedcos_jax.errors import InputError
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.prepare import prepare
from fedcos_jax.runs.result import history_lists
from fedcos_jax.runs.together import Together, run_together

CONFIG = Config(rounds=2, local_steps=2, batch_size=8, clients=3)


@pytest.mark.parametrize(
    ("changes", "programs"),
    [
        ([{"clients": 3}, {"clients": 5}, {"clients": 5, "lr": 0.1}], 2),
        ([{"local_steps": 1}, {"local_steps": 2}, {"batch_size": 4}], 3),
        ([{"partition": "sorted"}, {"partition": "dirichlet0.5"}], 1),
        ([{"method": "FedAvg"}, {"method": "FedProx(0.1)"}, {"method": "FedOpt(1.5)+FedCos(0.1)"}], 1),
        ([{"method": "FedAvg"}, {"method": "SCAFFOLD"}], 2),
        ([{"lr": 0.1}, {"epsilon": 1e-4}, {"partition": "iid", "seed": 3}], 1),
    ],
    ids=["clients", "steps and batches", "partitions", "methods of the paper", "another structure", "numbers"],
)
def test_configs_together_are_configs_alone(changes, programs):
    configs = [dataclasses.replace(CONFIG, **change) for change in changes]
    before = batches.compiled_programs()
    finished = [one for batch in run_together(configs, Config.load, 1) for one in batch]
    assert Together(configs, Config.load).programs(configs) == programs
    assert batches.compiled_programs() - before <= programs
    assert {one.config.identity["method"] for one in finished} == {config.method for config in configs}
    for one in finished:
        alone = execute(prepare(one.config))["history"]
        np.testing.assert_allclose(history_lists(one.history)["train_loss"], alone["train_loss"], rtol=1e-4)
        assert one.seconds > 0


def test_configs_that_stop_on_the_way_have_the_same_numbers():
    changes = [{"clients": 3}, {"clients": 5}, {"method": "SCAFFOLD"}, {"seed": 1}]
    configs = [dataclasses.replace(CONFIG, rounds=4, **change) for change in changes]
    whole = {one.config: one.history for batch in run_together(configs, Config.load, 1) for one in batch}
    together = Together(configs, Config.load, 1)
    for batch in together.run(configs, 2):
        for one in batch:
            cut = jax.tree.map(lambda leaf: leaf[:2], whole[one.config])
            jax.tree.map(np.testing.assert_array_equal, one.history, cut)
    ends = [one for batch in together.run(configs[1:], 4) for one in batch]
    assert {one.config for one in ends} == set(configs[1:])
    for one in ends:
        jax.tree.map(np.testing.assert_array_equal, one.history, whole[one.config])


def test_each_dataset_is_loaded_once_per_pass():
    loaded = []

    def load(config):
        loaded.append(config.dataset)
        return config.load()

    configs = [dataclasses.replace(CONFIG, dataset=d, seed=s) for s in (0, 1) for d in ("digits", "synthetic")]
    together = Together(configs, load)
    assert loaded == ["digits", "synthetic"]
    assert together.programs(configs) == 2
    assert set(together.clients.values()) == {3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clients": 10**6}, "client"),
        ({"model": "cnn"}, "the model cnn needs images"),
        ({"fraction": 0.0}, "fraction of clients"),
        ({"batch_size": 0}, "batch size must be at least 1"),
        ({"method": "FedFoo"}, "unknown method"),
    ],
)
def test_a_mistake_in_one_config_shows_up_before_anything_runs(change, message):
    with pytest.raises(InputError, match=message):
        Together([CONFIG, dataclasses.replace(CONFIG, **change)], Config.load)
