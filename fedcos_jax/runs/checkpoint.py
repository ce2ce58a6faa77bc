"""Checkpoints of a run on disk, so that a killed run can go on from the last one instead of starting again.

Import this module only where a run is kept, because Orbax takes half a second to load.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp

from fedcos_jax.engine import devices
from fedcos_jax.engine.callbacks import Callback, Report, told
from fedcos_jax.engine.devices import Placement
from fedcos_jax.engine.evaluation import Evaluation
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.loop import History, Recorder, as_reports, run
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.engine.rounds import STATE_SPECS, init_state
from fedcos_jax.errors import InputError, require
from fedcos_jax.runs import settings
from fedcos_jax.types import Array, RoundState


class Checkpoints:
    """The latest state of one run, in a folder of its own. The folder is made when there is something to keep.

    Attributes:
        folder: the folder of the run.
        identity: the settings that identify the run, ready for JSON. A folder of another run is an error.
        every: least seconds between checkpoints.
        keep_end: whether to keep the final state too, so that the run can go on to more rounds.
        seconds: how long the run has taken so far, over all its processes.
    """

    def __init__(self, folder: Path, identity: dict[str, Any], every: float = 60.0, *, keep_end: bool = True) -> None:
        require(every >= 0, f"the seconds between checkpoints cannot be negative, got {every:g}")
        self.folder, self.identity, self.every, self.keep_end = folder, identity, every, keep_end
        self.seconds = 0.0

    @property
    def name(self) -> str:
        """A name of the run that is kept here, the same in all its processes and no other run's."""
        whole = json.dumps([str(self.folder.absolute()), self.identity])
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    def run(self, key: Array, experiment: Experiment, callbacks: Sequence[Callback] = ()) -> History:
        """`run` from the state in the folder, with checkpoints on the way. Callbacks first get the stored rounds.

        The run does not go on if it has all its rounds, or if a callback ends it at the last stored round.
        """
        rounds = experiment.schedule.rounds
        about = self.about(rounds)
        state, before = None, None
        if about is not None:
            self.seconds = about["seconds"]
            state, before = self._read(key, experiment, about["devices"])
            stops = [told(report, callbacks) for report in as_reports(before, state)]
            if about["rounds"] == rounds or stops[-1]:
                return before
        recorder = Recorder(before)
        started = time.monotonic() - self.seconds
        kept = time.monotonic()

        def keep(report: Report) -> None:
            nonlocal kept
            self.seconds = time.monotonic() - started
            due = self.keep_end if report.completed == rounds else time.monotonic() - kept >= self.every
            if due and recorder.evaluated:
                self._keep(report.state, recorder.history(), experiment.federation.shapes.placement)
                kept = time.monotonic()

        run(key, experiment, callbacks=[recorder, *callbacks, keep], state=state, watch=False)
        return recorder.history()

    def about(self, rounds: int) -> dict[str, Any] | None:
        """What the folder says about the run of `rounds` rounds that it holds. None if it holds nothing."""
        if not self.folder.exists():
            return None
        with self._manager() as manager:
            completed = manager.latest_step()
            if completed is None:
                return None
            try:
                about = manager.restore(completed, args=ocp.args.Composite(about=ocp.args.JsonRestore())).about
            except (KeyError, ValueError, OSError):
                about = None
        if not isinstance(about, dict) or "identity" not in about:
            raise InputError(f"{self.folder} holds no checkpoint that can be read: remove it or choose another folder")
        differing = settings.differences(about["identity"], self.identity)
        require(not differing, f"{self.folder} holds another run, with {differing}: remove it or choose another folder")
        require(completed <= rounds, f"{self.folder} holds {completed} rounds of the run, more than {rounds}")
        return about | {"rounds": completed}

    def _read(self, key: Array, experiment: Experiment, count: int) -> tuple[RoundState, History]:
        """What a run on `count` devices stored. The state is on our devices if they are as many, else on one."""
        federation = experiment.federation
        like = jax.eval_shape(lambda: init_state(key, federation))
        with self._manager() as manager:
            return restore(manager, like, count, federation.shapes.placement)

    def _keep(self, state: RoundState, history: History, placement: Placement) -> None:
        about = {"identity": self.identity, "seconds": self.seconds, "devices": placement.count}
        parts = ocp.args.Composite(
            about=ocp.args.JsonSave(about), state=ocp.args.StandardSave(state), history=ocp.args.StandardSave(history)
        )
        with self._manager() as manager:
            manager.save(int(state.round), args=parts)

    def _manager(self) -> ocp.CheckpointManager:
        # The next tick reuses the state's buffers, so the checkpoint must be written by then.
        options = ocp.CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
        return ocp.CheckpointManager(self.folder.absolute(), options=options)


def restore(
    manager: ocp.CheckpointManager, like: RoundState, count: int, here: Placement
) -> tuple[RoundState, History]:
    """The state and the history that a run on `count` devices stored.

    Args:
        manager: of the folder.
        like: the shapes of the state.
        count: number of devices that shared the run.
        here: where the state goes if these are as many devices. Otherwise it goes on one device.
    """
    rows = -(-like.steps_taken.shape[0] // count) * count
    memories = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((rows, *leaf.shape[1:]), leaf.dtype), like.client_memories
    )
    where = here if here.count == count else devices.available(1)
    wanted = RoundState(*map(_placed(where), like._replace(client_memories=memories), STATE_SPECS))
    parts = ocp.args.Composite(state=ocp.args.StandardRestore(wanted), history=ocp.args.StandardRestore())
    kept = manager.restore(manager.latest_step(), args=parts)
    columns = kept.history
    rounds = RoundInfo(**columns["rounds"])
    return kept.state, History(columns["evaluated"], _evaluation(columns["evaluation"]), rounds)


def _evaluation(columns: dict[str, Any]) -> Evaluation:
    """An evaluation as it was stored: by kind of metric, or with the accuracy of a classifier alone."""
    shares = {"accuracy": columns["accuracy"]} if "accuracy" in columns else columns.get("shares") or {}
    return Evaluation(columns["loss"], shares, columns.get("errors") or {})


def _placed(where: Placement):
    """(tree of shapes, spec) -> the shapes on these devices."""

    def place(values: Any, spec: Any) -> Any:
        sharding = where.sharding(spec)
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), values)

    return place
