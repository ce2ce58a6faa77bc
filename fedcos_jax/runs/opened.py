"""Opening a checkpoint to look at it or to go on from it, on any number of devices."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from fedcos_jax.engine import devices
from fedcos_jax.engine.experiment import Experiment, as_arrays
from fedcos_jax.engine.loop import History
from fedcos_jax.engine.rounds import first_state, init_state
from fedcos_jax.errors import InputError, require
from fedcos_jax.runs import settings
from fedcos_jax.runs.config import Config
from fedcos_jax.types import Params, RoundState

if TYPE_CHECKING:
    import orbax.checkpoint as ocp


class Checkpoint(NamedTuple):
    """What a run had come to when it was kept."""

    config: Config | None
    """The config of these rounds. None if the run was not described by a config."""
    state: RoundState
    """The state after the last round kept. A run goes on from it: `fc.run(key, experiment, state=state)`."""
    history: History


def open_checkpoint(folder: str | os.PathLike, experiment: Experiment | None = None) -> Checkpoint:
    """Reads the checkpoint of a run, on this machine's devices, whatever devices the run had.

    Args:
        folder: of the checkpoints, as given to `fedcos run --checkpoint-dir`. It is not changed.
        experiment: what ran. None to find out from the config in the folder, which takes no dataset.

    Example:
        >>> kept = fc.open_checkpoint("kept")
        >>> fc.save_params("model.safetensors", kept.state.params)
    """
    from fedcos_jax.runs.checkpoint import restore

    folder = Path(folder)
    require(folder.is_dir(), f"{folder} is not a folder of checkpoints")
    with _manager(folder) as manager:
        about, shapes = _contents(manager, folder)
        config = _config(about["identity"], manager.latest_step())
        if experiment is not None:
            like = jax.eval_shape(init_state, jax.random.key(0), experiment.federation)
        else:
            like = _like(config, shapes, folder)
        try:
            state, history = restore(manager, like, about["devices"], devices.available())
        except (KeyError, ValueError, TypeError):
            failure = (
                f"{folder} holds the state of another method or model: give open_checkpoint the experiment that ran"
            )
            raise InputError(failure) from None
    clients = len(state.steps_taken)
    memories = jax.tree.map(lambda leaf: leaf[:clients] if len(leaf) > clients else leaf, state.client_memories)
    return Checkpoint(config, state._replace(client_memories=memories), history)


def _manager(folder: Path) -> "ocp.CheckpointManager":
    """A manager that also knows the shapes of what it holds."""
    import orbax.checkpoint as ocp

    handlers = {
        "about": ocp.JsonCheckpointHandler(),
        "state": ocp.StandardCheckpointHandler(),
        "history": ocp.StandardCheckpointHandler(),
    }
    options = ocp.CheckpointManagerOptions(create=False)
    return ocp.CheckpointManager(folder.absolute(), options=options, item_handlers=handlers)


def _contents(manager: "ocp.CheckpointManager", folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the folder says about its run, and the shapes of the parts of its state."""
    import orbax.checkpoint as ocp

    completed = manager.latest_step()
    try:
        about = manager.restore(completed, args=ocp.args.Composite(about=ocp.args.JsonRestore())).about
        shapes = dict(manager.item_metadata(completed).state)
        require({"identity", "devices"} <= set(about) and {"params", "steps_taken"} <= set(shapes), "")
    except (KeyError, ValueError, TypeError, AttributeError, OSError):
        raise InputError(f"{folder} holds no checkpoint that can be read") from None
    return about, shapes


def _config(identity: dict[str, Any], completed: int) -> Config | None:
    """The config of the run so far, if the identity of the run is that of a config."""
    known = settings.declared(Config)
    if not {"dataset", "model", "method"} <= set(identity) <= set(known):
        return None
    return Config(**{"rounds": completed} | identity)


def _like(config: Config | None, shapes: dict[str, Any], folder: Path) -> RoundState:
    """The shapes of the state of a config's run, from those of its parameters."""
    if config is None:
        raise InputError(f"{folder} does not say which method it ran: give open_checkpoint the experiment")
    method = as_arrays(config.spec.build(config.options))
    num_clients = shapes["steps_taken"].shape[0]

    def first(key: jax.Array, params: Params) -> RoundState:
        return first_state(key, params, method, num_clients, devices.available(1))

    params = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), shapes["params"])
    return jax.eval_shape(first, jax.random.key(0), params)
