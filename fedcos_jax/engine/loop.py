"""A whole run: `simulate` as one pure function, and `run` as the same computation, compiled, with callbacks.

A segment is the rounds from one evaluation to the next. `simulate` scans over segments. `run` is the one loop on the
host. It runs each segment in one or more ticks and reports every tick to its callbacks, which show progress, write
logs, keep checkpoints or end the run. All ticks run the same compiled program, which takes the number of rounds as an
argument. Results therefore do not depend on how a segment is cut into ticks.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.engine.callbacks import Callback, Report, compiling, told
from fedcos_jax.engine.devices import SAME
from fedcos_jax.engine.evaluation import Evaluation, evaluate
from fedcos_jax.engine.experiment import Experiment, Federation
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.engine.progress import progress_bar
from fedcos_jax.engine.rounds import STATE_SPECS, as_key, init_state, one_round
from fedcos_jax.engine.schedule import Schedule
from fedcos_jax.engine.watch import Watch
from fedcos_jax.errors import require
from fedcos_jax.types import Array, RoundState

_TICK_SECONDS = 0.5
"""About how long a tick takes, if one round takes less. The overhead of a tick is less than a millisecond."""


class History(NamedTuple):
    """What a run records: values per evaluation [evaluations] and per round [rounds]."""

    evaluated: Array | np.ndarray
    """Rounds completed at each evaluation, [evaluations]."""
    evaluation: Evaluation
    rounds: RoundInfo


class Recorder:
    """A callback that collects all reports into one history."""

    def __init__(self, before: History | None = None) -> None:
        """Starts empty, or with the history of the rounds before a resumed run."""
        self._evaluated = [] if before is None else [before.evaluated]
        self._evaluations = [] if before is None else [before.evaluation]
        self._rounds = [] if before is None else [before.rounds]

    def __call__(self, report: Report) -> None:
        """Adds a report."""
        self._rounds.append(report.rounds)
        if report.evaluation is not None:
            self._evaluated.append(np.array([report.completed]))
            self._evaluations.append(jax.tree.map(lambda leaf: leaf[None], report.evaluation))

    @property
    def evaluated(self) -> bool:
        """Whether there has been an evaluation."""
        return bool(self._evaluated)

    def history(self) -> History:
        """The history of all reports. There must have been an evaluation."""
        parts = (self._evaluated, self._evaluations, self._rounds)
        return History(*(jax.tree.map(lambda *leaves: np.concatenate(leaves), *part) for part in parts))


def as_reports(history: History, state: Any = None) -> list[Report]:
    """A history as the reports of its segments, with the state at its end if a callback needs one."""
    reports, first = [], 0
    for place, completed in enumerate(history.evaluated.tolist()):
        rounds = jax.tree.map(lambda leaf, first=first, last=completed: leaf[first:last], history.rounds)
        evaluation = jax.tree.map(lambda leaf, place=place: leaf[place], history.evaluation)
        reports.append(Report(completed, rounds, evaluation, state))
        first = completed
    rest = jax.tree.map(lambda leaf: leaf[first:], history.rounds)
    if len(rest.train_loss):
        reports.append(Report(first + len(rest.train_loss), rest, None, state))
    return reports


def segment(
    state: RoundState, federation: Federation, until: Array, evaluated: Array
) -> tuple[RoundState, RoundInfo, Evaluation]:
    """Trains until `until` rounds are completed, within one segment, and then evaluates if asked to.

    Args:
        state: the state to start from.
        federation: what to train.
        until: number of completed rounds at which to stop.
        evaluated: whether to evaluate at the end.

    Returns:
        The new state, the rounds [segment] and the evaluation. Rounds after `until` are zero. The evaluation is zero
        if there was none.
    """
    advance = jax.jit(one_round)  # so that JAX traces it once, not again for the shapes of its results

    def on_one_device(state: RoundState, federation: Federation, until: Array, evaluated: Array):
        first = state.round

        def body(carry: tuple[RoundState, RoundInfo]) -> tuple[RoundState, RoundInfo]:
            state, infos = carry
            next_state, info = advance(state, federation)
            place = state.round - first
            return next_state, jax.tree.map(lambda column, value: column.at[place].set(value), infos, info)

        like = jax.eval_shape(advance, state, federation)[1]
        empty = jax.tree.map(lambda leaf: jnp.zeros((federation.shapes.segment, *leaf.shape), leaf.dtype), like)
        state, infos = jax.lax.while_loop(lambda carry: carry[0].round < until, body, (state, empty))
        nothing = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(evaluate, state.params, federation)
        )
        evaluation = jax.lax.cond(evaluated, lambda: evaluate(state.params, federation), lambda: nothing)
        return state, infos, evaluation

    placement = federation.shapes.placement
    on_all = placement.on_each(on_one_device, (STATE_SPECS, SAME, SAME, SAME), (STATE_SPECS, SAME, SAME))
    return on_all(state, federation, until, evaluated)


def simulate(key: Array | int, experiment: Experiment) -> tuple[RoundState, History]:
    """A whole run as one pure function of the key and of every number in the experiment. It can be jitted and vmapped.

    Args:
        key: decides initial parameters, cohorts, data order and noise.
        experiment: what to run.

    Returns:
        The final state, from which a run can go on, and the history.

    Example:
        >>> keys = jax.random.split(jax.random.key(0), 5)
        >>> _, histories = jax.jit(jax.vmap(lambda key: fc.simulate(key, experiment)))(keys)
    """
    federation, schedule = experiment.federation, experiment.schedule
    return advance(init_state(key, federation), federation, schedule, schedule.rounds)


def advance(
    state: RoundState, federation: Federation, schedule: Schedule, until: int | Array
) -> tuple[RoundState, History]:
    """The segments of a run from a state on, as a pure function that can be jitted and vmapped.

    Args:
        state: the state to start from, after an evaluation or before the first round.
        federation: what to train.
        schedule: of the whole run.
        until: completed rounds at which to stop. It is rounded down to an evaluation.

    Returns:
        The state there, and a history with room for the whole run. The entries of other rounds are zero.
    """
    ends = jnp.array(list(_ends(0, schedule)), jnp.int32)
    stop = jnp.sum(ends <= until)

    def empty(like: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.zeros((len(ends), *leaf.shape), leaf.dtype), like)

    def body(carry: tuple[Array, RoundState, tuple[RoundInfo, Evaluation]]):
        place, state, records = carry
        state, *new = segment(state, federation, ends[place], jnp.array(True))
        records = jax.tree.map(lambda column, value: column.at[place].set(value), records, tuple(new))
        return place + 1, state, records

    _, *like = jax.eval_shape(lambda: segment(state, federation, ends[0], jnp.array(True)))
    start = jnp.sum(ends <= state.round), state, empty(tuple(like))
    _, state, (infos, evaluations) = jax.lax.while_loop(lambda carry: carry[0] < stop, body, start)
    infos = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[: schedule.rounds], infos)
    return state, History(ends, evaluations, infos)


def _ends(completed: int, schedule: Schedule) -> Iterator[int]:
    """The rounds after which the model is evaluated: every `eval_every` rounds, and the last one."""
    while completed < schedule.rounds:
        completed = min(completed - completed % schedule.eval_every + schedule.eval_every, schedule.rounds)
        yield completed


# This program runs once, so optimizing it would take longer than running it.
_compiled_init = jax.jit(init_state, compiler_options={"xla_backend_optimization_level": 1})
_compiled_segment = jax.jit(segment, donate_argnames=("state",))


def initial_state(key: Array | int, federation: Federation) -> RoundState:
    """`init_state`, compiled, on all devices. One device may not have room for all client memories."""
    return _compiled_init(*federation.shapes.placement.replicate((as_key(key), federation)))


def run(
    key: Array | int,
    experiment: Experiment,
    *,
    callbacks: Sequence[Callback] = (),
    state: RoundState | None = None,
    progress: bool = False,
    watch: bool = True,
) -> tuple[RoundState, History]:
    """`simulate`, compiled, with callbacks.

    A new key, another number of rounds, or new numbers in the method or the optimizer need no new compilation.

    Args:
        key: decides initial parameters, cohorts, data order and noise. A whole number is taken as the seed of a key.
        experiment: what to run.
        callbacks: called in order after each tick. The run ends if one returns True.
        state: the state to go on from, up to `schedule.rounds`. None to start from the key. The run reuses its buffers.
        progress: whether to show a progress bar on standard error.
        watch: whether to give a DivergenceWarning if the run shows a sign of divergence.

    Returns:
        The final state, and the history of the rounds run, on the host.

    Example:
        >>> state, history = fc.run(jax.random.key(0), experiment, callbacks=[fc.stop_at(accuracy=0.9)])
    """
    key, rounds = as_key(key), experiment.schedule.rounds
    completed = 0 if state is None else _completed(state)
    require(completed < rounds, f"the state has completed {completed} rounds of {rounds}")
    with progress_bar("run", rounds, shown=progress) as bar:
        signs: list[Callback] = [Watch(experiment)] if watch else []
        watching = (*callbacks, *signs, bar)
        with compiling(watching, completed):
            federation = experiment.federation.shapes.placement.replicate(experiment.federation)
            state = initial_state(key, federation) if state is None else _resumed(state, key, federation)
            # The program is compiled by a call that runs no round.
            state = _tick(state, federation, completed, completed, evaluated=False).state
        return _run_on(state, completed, federation, experiment.schedule, watching)


def _run_on(
    state: RoundState, completed: int, federation: Federation, schedule: Schedule, callbacks: Sequence[Callback]
) -> tuple[RoundState, History]:
    """Runs the rounds after `completed`, tick by tick."""
    length, recorder = 1, Recorder()
    for end in _ends(completed, schedule):
        while completed < end:
            until = min(completed + length, end)
            started = time.perf_counter()
            report = _tick(state, federation, completed, until, evaluated=until == end)
            seconds = time.perf_counter() - started
            length = max(1, length // 2) if seconds > _TICK_SECONDS else min(2 * length, schedule.rounds)
            state, completed = report.state, until
            stop = told(report, (recorder, *callbacks))
            if stop and report.evaluation is None:
                report = _tick(state, federation, completed, completed, evaluated=True)
                told(report, (recorder, *callbacks))
            if stop:
                return report.state, recorder.history()
    return state, recorder.history()


def _tick(state: RoundState, federation: Federation, completed: int, until: int, *, evaluated: bool) -> Report:
    """Runs the rounds after `completed` up to `until`, and evaluates if `evaluated`."""
    output = _compiled_segment(state, federation, jnp.int32(until), jnp.array(evaluated))
    # Wait for the devices. On a CPU, collectives of several unfinished programs could block each other.
    state, infos, evaluation = jax.block_until_ready(output)
    infos, evaluation = jax.device_get((infos, evaluation))
    rounds = jax.tree.map(lambda leaf: leaf[: until - completed], infos)
    return Report(until, rounds, evaluation if evaluated else None, state)


def _completed(state: RoundState) -> int:
    """The rounds that a state has completed. Raises InputError if another run has reused its buffers."""
    used = any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in jax.tree.leaves(state))
    require(
        not used,
        "the state is used up, because an earlier run reused its buffers: go on from the state that the earlier run "
        "returned, or give each run a copy, jax.tree.map(jnp.copy, state)",
    )
    return int(state.round)


def _resumed(state: RoundState, key: Array, federation: Federation) -> RoundState:
    """The state on the federation's devices. Raises InputError if it belongs to another kind of run."""
    theirs, ours = state.steps_taken.shape[0], federation.data.num_clients
    require(theirs == ours, f"the state is of a run with {theirs} clients, but the data has {ours}")
    like = jax.eval_shape(init_state, key, federation)
    kinds = {(jax.tree.structure(s), tuple(leaf.shape for leaf in jax.tree.leaves(s.params))) for s in (state, like)}
    require(len(kinds) == 1, "the state is of a run with another method or model")
    placement = federation.shapes.placement
    rows = placement.even_rows(ours)

    def fit(leaf: Array) -> Array:
        if leaf.shape[0] == rows:
            return leaf
        return jnp.pad(leaf[:ours], ((0, rows - ours), *[(0, 0)] * (leaf.ndim - 1)))

    shared = placement.replicate(state._replace(client_memories=()))
    return shared._replace(client_memories=placement.split(jax.tree.map(fit, state.client_memories)))


def compiled_programs() -> int:
    """The number of programs that `run` has compiled in this process. New numbers in an experiment do not add one."""
    return _compiled_segment._cache_size()  # type: ignore[attr-defined]


def compile_segment(key: Array, experiment: Experiment) -> tuple[jax.stages.Compiled, tuple]:
    """The program of `run`, compiled but not run, and arguments for one round with an evaluation.

    The first argument is the state. A call reuses its buffers, and the first result is the new state.
    """
    federation = experiment.federation.shapes.placement.replicate(experiment.federation)
    arguments = (initial_state(key, federation), federation, jnp.int32(1), jnp.array(True))
    return _compiled_segment.lower(*arguments).compile(), arguments
