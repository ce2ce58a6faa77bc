"""The run: segments, ticks, callbacks, resuming, keys and compilation leave the numbers alone."""

import dataclasses
from contextlib import contextmanager

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.tree_util import Partial

from fedcos_jax import Schedule, client_sgd, devices, fedopt, run, scaffold, simulate, stop_at, with_fedcos
from fedcos_jax.engine import loop
from fedcos_jax.engine.loop import Recorder, compile_segment
from fedcos_jax.errors import InputError
from fedcos_jax.types import Penalty
from tests.problems import small_experiment

KEY = jax.random.key(7)
METHOD = with_fedcos(fedopt(1.2), 0.2)
SIZES = (4, 7, 6, 9, 5)
SCHEDULE = Schedule(rounds=7, local_steps=3, batch_size=3, cohort=4, eval_every=3, placement=devices.available(1))


def experiment(method=METHOD, sizes=SIZES, optimizer=None, **changes):
    return small_experiment(method, dataclasses.replace(SCHEDULE, **changes), sizes=sizes, optimizer=optimizer)


def run_small(state=None, callbacks=(), progress=False, **changes):
    return run(KEY, experiment(**changes), state=state, callbacks=callbacks, progress=progress)


def assert_same(a, b):
    chex.assert_trees_all_equal(jax.device_get(a), jax.device_get(b))


@pytest.mark.parametrize("chunk", [1, 2, 3, 4])
def test_chunks_do_not_change_the_result(x64, chunk):
    whole, chunked = run_small(), run_small(chunk=chunk)
    chex.assert_trees_all_close(chunked[1], whole[1], rtol=1e-9, atol=1e-12)
    chex.assert_trees_all_close(chunked[0].params, whole[0].params, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rounds", [7, 2], ids=["several evaluations", "fewer rounds than between two"])
def test_run_equals_the_pure_function(x64, rounds):
    pure = jax.jit(lambda key: simulate(key, experiment(rounds=rounds)))(KEY)
    compiled = run_small(rounds=rounds)
    chex.assert_trees_all_close(pure[1], compiled[1], rtol=1e-9, atol=1e-12)
    chex.assert_trees_all_close(pure[0].params, compiled[0].params, rtol=1e-9, atol=1e-12)


def test_callbacks_only_look_on():
    reports = []
    state, history = run_small(callbacks=[lambda report: reports.append(report._replace(state=None))])
    silent_state, silent_history = run_small()
    assert_same((state.params, history), (silent_state.params, silent_history))
    evaluated = [report for report in reports if report.evaluation is not None]
    assert [report.completed for report in evaluated] == [3, 6, 7]
    assert [report.evaluation.accuracy for report in evaluated] == history.evaluation.accuracy.tolist()
    assert sum(len(report.rounds.train_loss) for report in reports) == 7


def test_rounds_tick_between_evaluations(monkeypatch):
    """However a segment is cut into ticks, the numbers are the same; slow rounds tick one by one."""
    counts = {}
    results = []
    for seconds in (0, 1e9):
        monkeypatch.setattr(loop, "_TICK_SECONDS", seconds)
        seen = counts[seconds] = []
        results.append(run_small(rounds=12, eval_every=12, callbacks=[lambda report, seen=seen: seen.append(report)]))
    assert_same((results[0][0].params, results[0][1]), (results[1][0].params, results[1][1]))
    assert [report.completed for report in counts[0]] == list(range(1, 13))
    assert [report.completed for report in counts[1e9]] == [1, 3, 7, 12]


@pytest.mark.parametrize(("eval_every", "ends"), [(3, 6), (4, 4)])
def test_a_callback_can_end_the_run(eval_every, ends):
    """The last round is evaluated even if no evaluation was due."""
    asked = []

    def stop(report):
        asked.append(report.completed)
        return report.completed >= 4

    state, history = run_small(eval_every=eval_every, callbacks=[stop])
    assert int(state.round) == history.evaluated[-1] == len(history.rounds.train_loss)
    assert int(state.round) <= ends
    whole = run_small(eval_every=eval_every)[1]
    assert_same(history.rounds.train_loss, whole.rounds.train_loss[: int(state.round)])


def test_a_run_stops_at_an_accuracy():
    _, whole = run_small(eval_every=1, rounds=20)
    target = float(np.max(whole.evaluation.accuracy))
    reached = int(np.argmax(whole.evaluation.accuracy >= target)) + 1
    _, history = run_small(eval_every=1, rounds=20, callbacks=[stop_at(accuracy=target)])
    assert history.evaluated[-1] == reached


def test_a_recorder_goes_on_with_what_was_before():
    _, whole = run_small(eval_every=1)
    state, first = run_small(eval_every=1, rounds=4)
    recorder = Recorder(first)
    run_small(state=state, eval_every=1, callbacks=[recorder])
    assert_same(recorder.history(), whole)


def test_history_has_every_round_and_every_evaluation():
    _, history = run_small()
    assert history.evaluated.tolist() == [3, 6, 7]
    assert history.evaluation.accuracy.shape == (3,)
    assert all(column.shape == (7,) for column in history.rounds)


def test_evaluating_more_often_changes_nothing_else():
    state, history = run_small(eval_every=1)
    other_state, other_history = run_small()
    assert_same((state.params, history.rounds), (other_state.params, other_history.rounds))
    assert_same(history.evaluation.loss[[2, 5, 6]], other_history.evaluation.loss)


@pytest.mark.parametrize("rounds", [4, 6])
def test_resumed_equals_uninterrupted(rounds):
    whole_state, whole = run_small()
    state, first = run_small(rounds=rounds)
    state, second = run_small(state=state)
    assert_same(state.params, whole_state.params)
    joined = jax.tree.map(lambda a, b: np.concatenate([a, b]), first.rounds, second.rounds)
    assert_same(joined, whole.rounds)


def test_resuming_a_finished_run_is_an_error():
    state, _ = run_small()
    with pytest.raises(InputError, match="the state has completed 7 rounds of "):
        run_small(state=state)


def test_key_decides_everything():
    assert_same(run_small()[1], run_small()[1])
    other = run(jax.random.key(8), experiment())
    assert not np.array_equal(other[1].rounds.train_loss, run_small()[1].rounds.train_loss)


def test_new_numbers_do_not_compile_anew():
    """Nor does another number of rounds."""
    compiled = []
    for strength, rate, server, seed in ((0.1, 0.1, 1.5, 0), (0, 1, 1, 1), (jnp.array(0.3), 0.02, 0.5, 2)):
        method = with_fedcos(fedopt(server), strength)
        run(jax.random.key(seed), experiment(method, optimizer=client_sgd(rate), rounds=7 + seed))
        compiled.append(loop.compiled_programs())
    assert len(set(compiled)) == 1


def test_plain_functions_make_a_penalty():
    """A user's own penalty of closures runs, without any wrapping."""
    pull = Penalty(
        init=lambda params: (),
        value=lambda params, context: 0.1 * jnp.sum(jnp.square(params["w"])),
        server_update=lambda memory, move: memory,
    )
    weights = run_small(method=fedopt(1.0)._replace(penalty=pull), rounds=3)[0].params["w"]
    free = run_small(method=fedopt(1.0), rounds=3)[0].params["w"]
    assert jnp.linalg.norm(weights) < jnp.linalg.norm(free)


def test_switches_belong_in_a_function():
    with pytest.raises(InputError, match="True cannot be a number"):
        run_small(method=METHOD._replace(server=Partial(optax.sgd, 0.1, momentum=0.9, nesterov=True)))
    run_small(method=METHOD._replace(server=lambda: optax.sgd(0.1, momentum=0.9, nesterov=True)), rounds=1)


def test_a_state_of_other_clients_is_refused():
    state, _ = run_small(rounds=1)
    with pytest.raises(InputError, match="of a run with 5 clients, but the data has 6"):
        run_small(state=state, sizes=(*SIZES, 3))


@pytest.mark.parametrize("method", [fedopt(1.2), scaffold()], ids=["FedOpt", "SCAFFOLD"])
def test_a_state_of_another_method_is_refused(method):
    state, _ = run_small(rounds=1)
    with pytest.raises(InputError, match="another method or model"):
        run_small(state=state, method=method)


def test_short_arrays_of_numbers_per_client_do_not_pass_unseen():
    """Clients beyond the array get NaN, not the last number of it."""
    state, _ = run_small(optimizer=client_sgd(jnp.array([0.1])), rounds=3)
    assert jnp.all(jnp.isnan(state.params["w"]))


def test_state_buffers_are_donated():
    state, _ = run_small(rounds=2)
    run_small(state=state)
    assert state.params["w"].is_deleted()


def test_a_state_used_twice_gets_one_line(capsys):
    state, _ = run_small(rounds=2)
    copied = jax.tree.map(jnp.copy, state)
    first, _ = run_small(state=state)
    with pytest.raises(InputError, match=r"the state is used up.* go on from the state that the earlier run returned"):
        run_small(state=state)
    assert_same(run_small(state=copied)[0].params, first.params)


def test_a_seed_and_an_old_key_are_the_key():
    whole = run(jax.random.key(7), experiment())[1]
    for key in (7, np.int64(7), jax.random.PRNGKey(7)):
        assert_same(run(key, experiment())[1], whole)
    traced = jax.jit(lambda seed: simulate(seed, experiment()))
    assert_same(traced(7)[1].evaluation, traced(jax.random.key(7))[1].evaluation)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (0.5, "or a whole number as its seed, got float"),
        (None, "or a whole number as its seed, got NoneType"),
        (True, "or a whole number as its seed, got bool"),
        (np.zeros(3, np.uint32), r"got uint32 of shape \(3,\)"),
        (jax.random.split(KEY, 3), r"a run takes one key, got keys of shape \(3,\): fc.sweep makes many runs"),
        (-1, "a seed must be at least 0 and below"),
        (2**32, "a seed must be at least 0 and below"),
    ],
)
def test_what_is_no_key_gets_one_line(key, message):
    with pytest.raises(InputError, match=message):
        run(key, experiment())


def test_progress_is_shown_on_request(capsys):
    run_small()
    assert capsys.readouterr().err == ""
    state, _ = run_small(rounds=3, progress=True)
    assert "run: round 3/3, accuracy " in capsys.readouterr().err
    run_small(state=state, progress=True)
    assert capsys.readouterr().err.startswith("run: resumed at round 3\n")


def test_callbacks_are_entered_while_the_run_compiles():
    seen = []

    class Watcher:
        @contextmanager
        def compiling(self, completed):
            seen.append(("compiling", completed))
            yield
            seen.append(("compiled", completed))

        def __call__(self, report):
            seen.append(("round", report.completed))

    state, _ = run_small(rounds=3, callbacks=[Watcher()])
    assert seen[:3] == [("compiling", 0), ("compiled", 0), ("round", 1)]
    del seen[:]
    run_small(state=state, callbacks=[Watcher()])
    assert seen[:3] == [("compiling", 3), ("compiled", 3), ("round", 4)]


def test_a_run_resumes_with_its_client_memories():
    whole, _ = run_small(method=scaffold())
    state, _ = run_small(method=scaffold(), rounds=4)
    assert_same(run_small(method=scaffold(), state=state)[0], whole)


def test_the_compiled_segment_is_the_program_of_a_run():
    program, (state, federation, *_) = compile_segment(KEY, experiment())
    state, infos, evaluation = program(state, federation, jnp.int32(3), jnp.array(True))
    _, history = run_small(rounds=3)
    assert_same(infos, history.rounds)
    assert_same(evaluation.loss, history.evaluation.loss[0])
    _, _, nothing = program(state, federation, jnp.int32(4), jnp.array(False))
    assert float(nothing.loss) == 0
