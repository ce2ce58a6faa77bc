"""A run kept on disk as it goes on, so that a killed one goes on where it was instead of starting again.

Only who keeps a run imports this module: Orbax takes half a second to load.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp

from fedcos_jax import mesh, settings
from fedcos_jax.errors import InputError, require
from fedcos_jax.models import Model
from fedcos_jax.schedule import Schedule
from fedcos_jax.simulate import Evaluation, History, init_state, join, stretches
from fedcos_jax.telemetry import RoundInfo
from fedcos_jax.types import Array, ClientOptimizer, FederatedData, FederatedMethod, RoundState


class Checkpoints:
    """The latest state of one run, in a folder of its own that is made when there is something to keep.

    Attributes:
        folder: of the run.
        identity: of the run, ready for JSON; a folder of another one is an error.
        every: seconds between checkpoints at least.
        keep_end: whether to keep the end of the run too, from where it can go on to more rounds.
        seconds: that the run has taken so far, in all its lives.
    """

    def __init__(self, folder: Path, identity: dict[str, Any], every: float = 60.0, *, keep_end: bool = True) -> None:
        require(every >= 0, f"the seconds between checkpoints cannot be negative, got {every:g}")
        self.folder, self.identity, self.every, self.keep_end = folder, identity, every, keep_end
        self.seconds = 0.0

    def stretches(
        self,
        key: Array,
        method: FederatedMethod,
        optimizer: ClientOptimizer,
        data: FederatedData,
        model: Model,
        schedule: Schedule,
    ) -> Iterator[tuple[RoundState, History]]:
        """`simulate.stretches`, the first of them what the folder holds, and the others kept there."""
        devices = schedule.shapes(data, model).devices
        kept, histories = None, []
        about = self.about(schedule.rounds)
        if about is not None:
            self.seconds = about["seconds"]
            state_like = jax.eval_shape(lambda: init_state(key, method, model, data.num_clients, about["devices"]))
            kept, history = self._read(state_like, devices if devices == about["devices"] else 1)
            histories.append(history)
            yield kept, history
            if about["rounds"] == schedule.rounds:
                return
        last = time.monotonic()
        started = last - self.seconds
        for state, history in stretches(key, method, optimizer, data, model, schedule, state=kept):
            histories.append(history)
            now, ended = time.monotonic(), state.round == schedule.rounds
            self.seconds = now - started
            if self.keep_end if ended else now - last >= self.every:
                self._keep(state, join(histories), devices)
                last = time.monotonic()
            yield state, history

    def about(self, rounds: int) -> dict[str, Any] | None:
        """What the folder says of what it holds of a run of so many rounds; None if it holds nothing."""
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

    def _read(self, state_like: RoundState, devices: int) -> tuple[RoundState, History]:
        def placed(values: Any, *, divided: bool) -> Any:
            where = mesh.placement(devices, divided=divided)
            return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=where), values)

        like = placed(state_like, divided=False)._replace(clients=placed(state_like.clients, divided=True))
        parts = ocp.args.Composite(state=ocp.args.StandardRestore(like), history=ocp.args.StandardRestore())
        with self._manager() as manager:
            kept = manager.restore(manager.latest_step(), args=parts)
        columns = kept.history
        evaluation, rounds = Evaluation(**columns["evaluation"]), RoundInfo(**columns["rounds"])
        return kept.state, History(columns["evaluated"], evaluation, rounds)

    def _keep(self, state: RoundState, history: History, devices: int) -> None:
        about = {"identity": self.identity, "seconds": self.seconds, "devices": devices}
        parts = ocp.args.Composite(
            about=ocp.args.JsonSave(about), state=ocp.args.StandardSave(state), history=ocp.args.StandardSave(history)
        )
        with self._manager() as manager:
            manager.save(int(state.round), args=parts)

    def _manager(self) -> ocp.CheckpointManager:
        # The next stretch overwrites the state's buffers, so that nothing may be left to write by then.
        options = ocp.CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
        return ocp.CheckpointManager(self.folder.absolute(), options=options)
