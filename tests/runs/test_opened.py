"""Checkpoints opened: by the config in the folder or by the experiment, on any number of devices."""

import dataclasses
import shutil

import chex
import jax
import pytest

import fedcos_jax as fc
from fedcos_jax.errors import InputError
from fedcos_jax.runs.checkpoint import Checkpoints
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.prepare import prepare
from tests.problems import small_experiment

CONFIG = Config(method="SCAFFOLD+FedCos(0.02)", clients=5, rounds=2, local_steps=2, batch_size=8, devices=3)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of a run on three devices."""
    folder = tmp_path_factory.mktemp("run") / "kept"
    prepared = prepare(CONFIG)
    execute(prepared, checkpoints=Checkpoints(folder, prepared.config.identity))
    return folder


def test_a_folder_gives_config_state_and_history(kept):
    state, history = fc.run(KEY, prepare(CONFIG).experiment)
    opened = fc.open_checkpoint(kept)
    assert opened.config == dataclasses.replace(CONFIG, devices=None)
    chex.assert_trees_all_equal(opened.history, history)
    clients = jax.tree.map(lambda leaf: leaf[:5], state.client_memories)
    chex.assert_trees_all_equal(jax.device_get(opened.state), jax.device_get(state._replace(client_memories=clients)))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_run_goes_on_from_it_on_other_devices(kept, count):
    longer = dataclasses.replace(CONFIG, rounds=4)
    state, history = fc.run(
        KEY, prepare(dataclasses.replace(longer, devices=count)).experiment, state=fc.open_checkpoint(kept).state
    )
    whole, whole_history = fc.run(KEY, prepare(longer).experiment)
    chex.assert_trees_all_close(jax.device_get(state.params), jax.device_get(whole.params), rtol=1e-4, atol=1e-6)
    assert history.evaluated.tolist() == whole_history.evaluated.tolist()[2:]


def test_opening_leaves_the_folder_as_it_is(kept):
    def contents():
        return {path: path.stat().st_mtime_ns for path in kept.rglob("*")}

    before = contents()
    fc.open_checkpoint(kept)
    assert contents() == before


def test_a_run_without_a_config_needs_its_experiment(tmp_path):
    experiment = small_experiment(fc.fedcos(0.1))
    Checkpoints(tmp_path / "kept", {"mine": 1}).run(KEY, experiment)
    with pytest.raises(InputError, match="does not say which method it ran: give open_checkpoint the experiment"):
        fc.open_checkpoint(tmp_path / "kept")
    config, state, history = fc.open_checkpoint(tmp_path / "kept", experiment)
    whole, whole_history = fc.run(KEY, experiment)
    assert config is None
    chex.assert_trees_all_equal((jax.device_get(state), history), (jax.device_get(whole), whole_history))
    with pytest.raises(InputError, match="holds the state of another method or model"):
        fc.open_checkpoint(tmp_path / "kept", small_experiment(fc.scaffold()))


@pytest.mark.parametrize("missing", ["2/state", "2/about", "2"])
def test_what_is_no_checkpoint_is_refused(kept, tmp_path, missing):
    shutil.copytree(kept, tmp_path / "kept")
    shutil.rmtree(tmp_path / "kept" / missing)
    with pytest.raises(InputError, match="kept holds no checkpoint that can be read"):
        fc.open_checkpoint(tmp_path / "kept")
    with pytest.raises(InputError, match="nowhere is not a folder of checkpoints"):
        fc.open_checkpoint(tmp_path / "nowhere")
