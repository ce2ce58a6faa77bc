"""What follows from the kinds of a config's fields."""

import dataclasses

import numpy as np
import pytest

from fedcos_jax.errors import InputError
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.parameters import save_params
from fedcos_jax.runs.settings import of_kind

OTHER = {
    "partition": "iid",
    "seed": 1,
    "lr": 0.1,
    "lr_decay": 0.5,
    "momentum": 0.9,
    "weight_decay": 0.1,
    "method": "FedAvg",
    "epsilon": 1e-3,
}


def test_numbers_do_not_change_the_program():
    assert set(OTHER) == set(of_kind(Config, "number"))
    for name, value in OTHER.items():
        changed = dataclasses.replace(Config(), **{name: value})
        assert changed.program == Config().program
        assert changed.identity != Config().identity


@pytest.mark.parametrize(
    "changes", [{"rounds": 3}, {"clients": 9}, {"model": "cnn"}, {"damped_momentum": True}, {"lr_schedule": "cosine"}]
)
def test_shapes_change_the_program(changes):
    assert dataclasses.replace(Config(), **changes).program != Config().program


def test_the_machine_changes_no_result():
    changed = Config(chunk=3, devices=1)
    assert changed.results == Config().results
    assert changed.identity == Config().identity


def test_what_a_run_starts_from_is_known_by_its_checksum(tmp_path):
    one, same, other = (str(tmp_path / f"{name}.safetensors") for name in ("one", "same", "other"))
    for path, value in ((one, 1.0), (same, 1.0), (other, 2.0)):
        save_params(path, {"a": np.full(3, value)}, {"path": path})
    pinned = Config(start_from=one).pinned()
    assert pinned.identity == Config(start_from=same).pinned().identity
    assert pinned.identity != Config(start_from=other).pinned().identity
    assert pinned.pinned() == pinned
    assert Config().pinned() == Config()
    with pytest.raises(InputError, match=r"other.safetensors does not hold the parameters"):
        dataclasses.replace(pinned, start_from=other).pinned()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lr_decay": 0.5}, "lr_decay is the number of lr_schedule exponential"),
        ({"lr_schedule": "linear"}, "unknown learning rate schedule 'linear'"),
    ],
)
def test_contradictions(changes, message):
    with pytest.raises(InputError, match=message):
        Config(**changes).optimizer()


@pytest.mark.parametrize("replay", [None, 111])
def test_a_natural_partition_needs_no_number_of_clients_and_takes_no_other(replay):
    config = Config(dataset="dialects(4)", partition="natural", replay=replay)
    dataset = config.load()
    for clients in (Config.clients, 4):
        assert dataclasses.replace(config, clients=clients).draws(dataset)[0].num_clients == 4
    with pytest.raises(InputError, match="4 clients of its own, so the partition 'natural' cannot have 3"):
        dataclasses.replace(config, clients=3).draws(dataset)
