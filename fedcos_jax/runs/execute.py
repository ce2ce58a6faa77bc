"""Running a config, with callbacks and checkpoints."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from fedcos_jax.engine.callbacks import Callback
from fedcos_jax.engine.loop import run
from fedcos_jax.engine.watch import Watch
from fedcos_jax.runs.prepare import Prepared
from fedcos_jax.runs.result import as_result

if TYPE_CHECKING:
    from fedcos_jax.runs.checkpoint import Checkpoints


def execute(
    prepared: Prepared,
    callbacks: Sequence[Callback] = (),
    checkpoints: "Checkpoints | None" = None,
    *,
    stop_on_divergence: bool = False,
) -> dict[str, Any]:
    """Runs a prepared config and returns its result, ready for JSON. A sign of divergence is a DivergenceWarning too.

    Args:
        prepared: what to run.
        callbacks: as in `run`. If the run goes on from a checkpoint, they are first told what it holds.
        checkpoints: of this run. The run goes on from there and is kept there.
        stop_on_divergence: whether to end the run at the first sign of divergence.
    """
    config, experiment = prepared
    key, watch = jax.random.key(config.seed), Watch(experiment, stop=stop_on_divergence)
    callbacks = (*callbacks, watch)
    if checkpoints is not None:
        history = checkpoints.run(key, experiment, callbacks)
        return as_result(config, history, checkpoints.seconds, watch)
    started = time.perf_counter()
    _, history = run(key, experiment, callbacks=callbacks, watch=False)
    return as_result(config, history, time.perf_counter() - started, watch)
