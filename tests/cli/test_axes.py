"""The axes of a grid, and the config at each of its points."""

import pytest

from fedcos_jax.cli.axes import at_point, read_axes, seed_axis, swept
from fedcos_jax.errors import InputError
from fedcos_jax.labels import FLAGS
from fedcos_jax.runs import settings
from fedcos_jax.runs.config import Config


def test_every_setting_that_results_depend_on_can_be_swept():
    assert set(swept()) == {*settings.declared(Config), *FLAGS} - {"chunk", "devices", "start_from", "start_checksum"}


def test_values_have_the_type_of_their_setting():
    axes = read_axes(["model=mlp,cnn", "clients=3,5", "momentum=none,0.5", "augment=true,false", "cos-strength=0,0.1"])
    assert axes == {
        "model": ["mlp", "cnn"],
        "clients": [3, 5],
        "momentum": [None, 0.5],
        "augment": [True, False],
        "cos_strength": [0.0, 0.1],
    }


def test_the_config_of_a_point():
    config = at_point(Config(), {"method": "FedOpt", "cos_strength": 0.1, "clients": 3, "seed": 2})
    assert (config.method, config.clients, config.seed) == ("FedOpt(1.5)+FedCos(0.1)", 3, 2)


def test_seeds():
    assert seed_axis([], 3, 5) == {"seed": [5, 6, 7]}
    assert seed_axis([], None, 5) == {"seed": [5]}
    assert seed_axis(["seed"], None, 5) == {}


def test_local_steps_and_epochs_exclude_each_other():
    with pytest.raises(InputError, match="not both"):
        read_axes(["local_steps=1,2", "local_epochs=1,2"])
    assert list(read_axes(["local_epochs=1,2"])) == ["local_epochs"]
