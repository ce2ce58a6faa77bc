"""A whole federated run as a pure function: one round, the scan over rounds, and the compiled run.

`simulate` is pure: jit it, vmap it over keys or over stacked methods. `run` is the same computation, compiled
once in stretches between evaluations, so that the host can show progress and keep what is done.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.tree_util import Partial

from fedcos_jax import cohorts, mesh, sampling, tree
from fedcos_jax.errors import require
from fedcos_jax.models import Model
from fedcos_jax.schedule import Schedule, Shapes
from fedcos_jax.telemetry import RoundInfo, round_info
from fedcos_jax.types import (
    Array,
    ClientOptimizer,
    Examples,
    FederatedData,
    FederatedMethod,
    Params,
    RoundState,
    ServerMove,
)


class Evaluation(NamedTuple):
    """The global model on the test set."""

    accuracy: Array
    """Share of test rows predicted right, in [0, 1]."""
    loss: Array


class History(NamedTuple):
    """What a run leaves: per evaluation [evaluations], and per round [rounds]."""

    evaluated: Array | np.ndarray
    """Rounds completed at each evaluation, [evaluations]."""
    evaluation: Evaluation
    rounds: RoundInfo


def init_state(key: Array, method: FederatedMethod, model: Model, num_clients: int, devices: int = 1) -> RoundState:
    """The state before the first round: x̂⁰ drawn from the key, d̂⁰ = 0, for a run on so many devices."""
    init_key, run_key = jax.random.split(key)
    params = model.init(init_key)
    return RoundState(
        key=run_key,
        round=jnp.zeros((), jnp.int32),
        params=params,
        server=method.server().init(params),
        memory=method.penalty.init(params),
        clients=mesh.divide(
            tree.stack(method.penalty.client_init(params), mesh.even_rows(num_clients, devices)), devices
        ),
        steps_taken=jnp.zeros(num_clients, jnp.int32),
    )


def one_round(
    state: RoundState,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    shapes: Shapes,
) -> tuple[RoundState, RoundInfo]:
    """One pass of Algorithm 1: choose the cohort S, train it, aggregate, update the direction."""
    cohort = _chosen(state, data, shapes.cohort)
    sizes = data.size_of(cohort)
    num_steps = shapes.num_steps(sizes)
    steps_taken = state.steps_taken[cohort]
    weights = method.weights(sizes, num_steps)
    clients = cohorts.Clients(cohort, num_steps, steps_taken, weights, positions=jnp.arange(shapes.cohort))
    train_chunk = cohorts.chunk_trainer(state, method, optimizer, data, model, shapes)
    memories, sums, learnt = cohorts.train(train_chunk, state.clients, clients, shapes)

    # optax descends along gradients; the aggregated move points downhill already.
    optimize = optax.with_extra_args_support(method.server()).update
    participation = shapes.cohort / data.num_clients
    descent, server = optimize(tree.scale(-1, sums.update), state.server, state.params, participation=participation)
    params = optax.apply_updates(state.params, descent)
    global_move = tree.sub(params, state.params)
    next_state = RoundState(
        key=state.key,
        round=state.round + 1,
        params=params,
        server=server,
        memory=method.penalty.server_update(state.memory, ServerMove(sums.update, global_move, learnt)),
        clients=memories,
        # From what was read: adding could come before reading, and would need a copy for the whole population.
        steps_taken=state.steps_taken.at[cohort].set(steps_taken + num_steps),
    )
    return next_state, round_info(sums, global_move, shapes.cohort)


def _chosen(state: RoundState, data: FederatedData, size: int) -> Array:
    """The cohort S of this round, [size]: the one given, or one drawn."""
    if data.cohorts is not None:
        return data.cohorts[state.round]
    cohort_key = jax.random.split(state.key, 3)[0]
    return sampling.cohort(jax.random.fold_in(cohort_key, state.round), data.num_clients, size)


def evaluate(
    params: Params, test: Examples, preprocess: Callable, model: Model, batch: int, devices: int = 1
) -> Evaluation:
    """Accuracy and mean loss over all rows, in batches."""
    rows = test.y.shape[0]

    def add_batch(sums: Evaluation, start: Array) -> tuple[Evaluation, None]:
        positions = start + jnp.arange(min(batch, rows))
        mask = positions < rows
        chosen = jnp.where(mask, positions, 0)
        outputs = model.apply(params, preprocess(test.x[chosen], None), None)
        correct, losses = model.correct(outputs, test.y[chosen]), model.loss(outputs, test.y[chosen])
        masked = (jnp.where(mask, values, 0).sum(dtype=zero.dtype) for values in (correct, losses))
        return tree.add(sums, Evaluation(*masked)), None

    zero = jnp.zeros((), tree.sum_type(params))
    (starts,) = mesh.share((jnp.arange(0, rows, batch),), devices, padding=(rows,))
    sums, _ = jax.lax.scan(add_batch, Evaluation(zero, zero), starts)
    return jax.tree.map(lambda total: total / rows, mesh.total(sums, devices))


def segment(
    state: RoundState,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    shapes: Shapes,
    rounds: int,
) -> tuple[RoundState, tuple[RoundInfo, Evaluation]]:
    """So many rounds, then one evaluation, on all the devices that share the work."""

    def stretch(state: RoundState, method: FederatedMethod, optimizer: ClientOptimizer, data: FederatedData):
        def body(state: RoundState, _: None) -> tuple[RoundState, RoundInfo]:
            return one_round(state, method, optimizer, data, model, shapes)

        state, infos = jax.lax.scan(body, state, length=rounds)
        evaluation = evaluate(state.params, data.test, data.preprocess, model, shapes.eval_batch, shapes.devices)
        return state, (infos, evaluation)

    where: dict[str, Any] = dict.fromkeys(RoundState._fields, mesh.SAME) | {"clients": mesh.DIVIDED}
    placed = RoundState(**where)
    on_all = mesh.on_each(stretch, shapes.devices, (placed, *[mesh.SAME] * 3), (placed, mesh.SAME))
    return on_all(state, method, optimizer, data)


def simulate(
    key: Array,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    schedule: Schedule,
) -> tuple[RoundState, History]:
    """A whole run as one pure function of the key and of every number in the method and the optimizer.

    Args:
        key: decides initial parameters, cohorts, data order and noise.
        method: e.g. `fedcos(0.02)`; its numbers may be traced.
        optimizer: e.g. `client_sgd(0.01)`; likewise.
        data: the dataset and who owns it.
        model: static.
        schedule: static.

    Returns:
        The final state, from which a run can go on, and the history.
    """
    shapes = schedule.shapes(data, model)
    blocks, rest = divmod(schedule.rounds, schedule.eval_every)

    def run_segment(state: RoundState, rounds: int):
        return segment(state, method, optimizer, data, model, shapes, rounds)

    state = init_state(key, method, model, data.num_clients, shapes.devices)
    state, (infos, evaluations) = jax.lax.scan(
        lambda state, _: run_segment(state, schedule.eval_every), state, length=blocks
    )
    infos = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), infos)
    if rest:
        state, (last_infos, last) = run_segment(state, rest)
        infos = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), infos, last_infos)
        evaluations = jax.tree.map(lambda a, b: jnp.append(a, b), evaluations, last)
    return state, History(jnp.cumsum(jnp.array(list(_segments(0, schedule)))), evaluations, infos)


def _segments(start: int, schedule: Schedule) -> Iterator[int]:
    """Lengths of the stretches of rounds between evaluations, from the start round to the last."""
    while start < schedule.rounds:
        length = min(schedule.eval_every - start % schedule.eval_every, schedule.rounds - start)
        yield length
        start += length


# Runs once, so that it is not worth optimizing: that takes longer than it does.
_compiled_init = jax.jit(
    init_state,
    static_argnames=("model", "num_clients", "devices"),
    compiler_options={"xla_backend_optimization_level": 1},
)


def initial_state(key: Array, method: FederatedMethod, model: Model, num_clients: int, devices: int = 1) -> RoundState:
    """`init_state`, compiled, on all the devices: the memories of all clients may be too much for one."""
    key = mesh.replicate(key, devices)
    return _compiled_init(key, as_arrays(method), model=model, num_clients=num_clients, devices=devices)


_compiled_segment = jax.jit(segment, static_argnames=("model", "shapes", "rounds"), donate_argnames=("state",))

Progress = Callable[[int, Evaluation], None]
"""(rounds completed, evaluation) -> None, called on the host after each evaluation."""


def run(
    key: Array,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    schedule: Schedule,
    *,
    progress: Progress | None = None,
    state: RoundState | None = None,
) -> tuple[RoundState, History]:
    """`simulate`, compiled, in stretches between evaluations.

    New numbers in the method or the optimizer do not compile anew, and neither does a new key.

    Args:
        key, method, optimizer, data, model, schedule: as in `simulate`.
        progress: called after each evaluation; it only looks on.
        state: goes on from here (its buffers are given up) to `schedule.rounds` instead of starting from the key.

    Returns:
        The final state, and the history of the rounds run, on the host.
    """
    histories = []
    for end, history in stretches(key, method, optimizer, data, model, schedule, state=state):  # noqa: B007
        histories.append(history)
        if progress is not None:
            progress(*latest(history))
    return end, join(histories)


def stretches(
    key: Array,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    schedule: Schedule,
    *,
    state: RoundState | None = None,
) -> Iterator[tuple[RoundState, History]]:
    """`run` a stretch between evaluations at a time: its state, given up when the next one begins, and its history."""
    shapes = schedule.shapes(data, model)
    method, optimizer = as_arrays(method), as_arrays(optimizer)
    if state is None:
        state = initial_state(key, method, model, data.num_clients, shapes.devices)
    else:
        _require_same_kind(state, key, method, model, data.num_clients)
    state, method, optimizer, data = _placed(state, method, optimizer, data, shapes.devices)
    completed = int(state.round)
    require(completed < schedule.rounds, f"the state has {completed} rounds behind it, the schedule {schedule.rounds}")
    for rounds in _segments(completed, schedule):
        state, output = _compiled_segment(state, method, optimizer, data, model=model, shapes=shapes, rounds=rounds)
        completed += rounds
        infos, evaluation = jax.device_get(jax.block_until_ready(output))
        yield state, History(np.array([completed]), jax.tree.map(lambda leaf: leaf[None], evaluation), infos)


def _require_same_kind(state: RoundState, key: Array, method: FederatedMethod, model: Model, num_clients: int) -> None:
    """Raises InputError for a state that comes from another kind of run."""
    like = jax.eval_shape(lambda key: init_state(key, method, model, num_clients), key)
    kinds = {(jax.tree.structure(s), tuple(leaf.shape for leaf in jax.tree.leaves(s.params))) for s in (state, like)}
    require(len(kinds) == 1, "the state is of a run with another method or model")


def compile_rounds(
    state: RoundState,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    shapes: Shapes,
    rounds: int = 1,
) -> tuple[jax.stages.Compiled, tuple]:
    """The program that `run` has for so many rounds and an evaluation, compiled and not run, and its arguments.

    The first of them, the state, is given up by a call, and comes back first.
    """
    arguments = _placed(state, as_arrays(method), as_arrays(optimizer), data, shapes.devices)
    return _compiled_segment.lower(*arguments, model=model, shapes=shapes, rounds=rounds).compile(), arguments


def _placed(
    state: RoundState, method: FederatedMethod, optimizer: ClientOptimizer, data: FederatedData, devices: int
) -> tuple[RoundState, FederatedMethod, ClientOptimizer, FederatedData]:
    """What a stretch starts from, where a run on so many devices has it."""
    return place_state(state, data.num_clients, devices), *mesh.replicate((method, optimizer, data), devices)


def latest(history: History) -> tuple[int, Evaluation]:
    """What `Progress` is told of a history: the rounds completed, and the last evaluation."""
    return int(history.evaluated[-1]), jax.tree.map(lambda column: column[-1], history.evaluation)


def join(histories: Sequence[History]) -> History:
    """One history of stretches that follow each other."""
    return jax.tree.map(lambda *parts: np.concatenate(parts), *histories)


def place_state(state: RoundState, num_clients: int, devices: int) -> RoundState:
    """The state where a run on so many devices has it; it may come from a run on another number."""
    others = state.steps_taken.shape[0]
    require(others == num_clients, f"the state is of a run with {others} clients, the data has {num_clients}")
    rows = mesh.even_rows(num_clients, devices)

    def fit(leaf: Array) -> Array:
        if leaf.shape[0] == rows:
            return leaf
        return jnp.pad(leaf[:num_clients], ((0, rows - num_clients), *[(0, 0)] * (leaf.ndim - 1)))

    shared = mesh.replicate(state._replace(clients=()), devices)
    return shared._replace(clients=mesh.split(jax.tree.map(fit, state.clients), devices))


def as_arrays(method):
    """Numbers as arrays of the default float type, so that 1, 1.0 and an array share one compiled program.

    A plain function becomes a static part: it works, but a new function object compiles anew.
    """

    def as_array(leaf: Any) -> Any:
        if callable(leaf):
            return Partial(leaf)
        advice = "put it inside a function, like server=lambda: optax.sgd(0.1, nesterov=True)"
        require(not isinstance(leaf, bool | str), f"{leaf!r} cannot be a number of a method or optimizer: {advice}")
        return jnp.asarray(leaf, jnp.result_type(float))

    return jax.tree.map(as_array, method)
