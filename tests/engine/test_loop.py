"""The run: chunks, segments, resuming, keys and compilation leave the numbers alone."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.tree_util import Partial
from problems import SOFTMAX_REGRESSION, gaussian_data

from fedcos_jax import (
    Model,
    Schedule,
    client_sgd,
    fedcos,
    feddyn,
    fedopt,
    run,
    sampling,
    scaffold,
    simulate,
    with_fedcos,
)
from fedcos_jax.errors import InputError
from fedcos_jax.engine.schedule import fraction_of
from fedcos_jax.engine.loop import _compiled_segment, compile_rounds, evaluate, init_state
from fedcos_jax.types import Examples, Penalty

KEY = jax.random.key(7)
METHOD, OPTIMIZER = with_fedcos(fedopt(1.2), 0.2), client_sgd(0.1)
SIZES = (4, 7, 6, 9, 5)
SCHEDULE = Schedule(rounds=7, local_steps=3, batch_size=3, cohort=4, eval_every=3)


def run_small(schedule=SCHEDULE, **options):
    return run(KEY, METHOD, OPTIMIZER, gaussian_data(SIZES), SOFTMAX_REGRESSION, schedule, **options)


def assert_same(a, b):
    chex.assert_trees_all_equal(jax.device_get(a), jax.device_get(b))


@pytest.mark.parametrize("chunk", [1, 2, 3, 4])
def test_chunks_do_not_change_the_result(x64, chunk):
    whole = run_small()
    chunked = run_small(dataclasses.replace(SCHEDULE, chunk=chunk))
    chex.assert_trees_all_close(chunked[1], whole[1], rtol=1e-9, atol=1e-12)
    chex.assert_trees_all_close(chunked[0].params, whole[0].params, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rounds", [7, 2], ids=["several evaluations", "fewer rounds than between two"])
def test_run_equals_the_pure_function(x64, rounds):
    data, schedule = gaussian_data(SIZES), dataclasses.replace(SCHEDULE, rounds=rounds)
    pure = jax.jit(lambda key: simulate(key, METHOD, OPTIMIZER, data, SOFTMAX_REGRESSION, schedule))(KEY)
    compiled = run_small(schedule)
    chex.assert_trees_all_close(pure[1], compiled[1], rtol=1e-9, atol=1e-12)
    chex.assert_trees_all_close(pure[0].params, compiled[0].params, rtol=1e-9, atol=1e-12)


def test_progress_only_looks_on():
    seen = []
    state, history = run_small(progress=lambda completed, evaluation: seen.append((completed, evaluation.accuracy)))
    silent_state, silent_history = run_small()
    assert_same((state.params, history), (silent_state.params, silent_history))
    assert [completed for completed, _ in seen] == [3, 6, 7]
    assert [accuracy for _, accuracy in seen] == history.evaluation.accuracy.tolist()


def test_history_has_every_round_and_every_evaluation():
    _, history = run_small()
    assert history.evaluated.tolist() == [3, 6, 7]
    assert history.evaluation.accuracy.shape == (3,)
    assert all(column.shape == (7,) for column in history.rounds)


def test_evaluating_more_often_changes_nothing_else():
    state, history = run_small(dataclasses.replace(SCHEDULE, eval_every=1))
    other_state, other_history = run_small()
    chex.assert_trees_all_close(state.params, other_state.params, rtol=1e-6)
    chex.assert_trees_all_close(history.rounds, other_history.rounds, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(history.evaluation.loss[[2, 5, 6]], other_history.evaluation.loss, rtol=1e-6)


def test_resumed_equals_uninterrupted():
    whole_state, whole = run_small(dataclasses.replace(SCHEDULE, eval_every=1))
    half = dataclasses.replace(SCHEDULE, eval_every=1, rounds=4)
    state, first = run_small(half)
    state, second = run_small(dataclasses.replace(SCHEDULE, eval_every=1), state=state)
    assert_same(state.params, whole_state.params)
    joined = jax.tree.map(lambda a, b: np.concatenate([a, b]), first, second)
    assert_same(joined, whole)


def test_resuming_a_finished_run_is_an_error():
    state, _ = run_small()
    with pytest.raises(InputError, match="7 rounds behind it"):
        run_small(state=state)


def test_key_decides_everything():
    assert_same(run_small()[1], run_small()[1])
    other = run(jax.random.key(8), METHOD, OPTIMIZER, gaussian_data(SIZES), SOFTMAX_REGRESSION, SCHEDULE)
    assert not np.array_equal(other[1].rounds.train_loss, run_small()[1].rounds.train_loss)


def test_new_numbers_do_not_compile_anew():
    data = gaussian_data(SIZES)
    schedule = dataclasses.replace(SCHEDULE, eval_every=7)
    for strength, rate, server, seed in ((0.1, 0.1, 1.5, 0), (0, 1, 1, 1), (jnp.array(0.3), 0.02, 0.5, 2)):
        method = with_fedcos(fedopt(server), strength)
        run(jax.random.key(seed), method, client_sgd(rate), data, SOFTMAX_REGRESSION, schedule)
        compiled = _compiled_segment._cache_size()
        if seed == 0:
            first = compiled
    assert compiled == first


def test_plain_functions_make_a_penalty():
    """A user's own penalty of closures runs, without any wrapping."""
    pull = Penalty(
        init=lambda params: (),
        value=lambda params, context: 0.1 * jnp.sum(jnp.square(params["w"])),
        server_update=lambda memory, move: memory,
    )
    data, schedule = gaussian_data(SIZES), dataclasses.replace(SCHEDULE, rounds=3)
    args = (OPTIMIZER, data, SOFTMAX_REGRESSION, schedule)
    weights = run(KEY, fedopt(1.0)._replace(penalty=pull), *args)[0].params["w"]
    free = run(KEY, fedopt(1.0), *args)[0].params["w"]
    assert jnp.linalg.norm(weights) < jnp.linalg.norm(free)


def test_switches_belong_in_a_function():
    args = (OPTIMIZER, gaussian_data(SIZES), SOFTMAX_REGRESSION, dataclasses.replace(SCHEDULE, rounds=1))
    with pytest.raises(InputError, match="True cannot be a number"):
        run(KEY, METHOD._replace(server=Partial(optax.sgd, 0.1, momentum=0.9, nesterov=True)), *args)
    run(KEY, METHOD._replace(server=lambda: optax.sgd(0.1, momentum=0.9, nesterov=True)), *args)


def test_a_state_of_other_clients_is_refused():
    state, _ = run_small(dataclasses.replace(SCHEDULE, rounds=1))
    args = (KEY, METHOD, OPTIMIZER, gaussian_data([*SIZES, 3]), SOFTMAX_REGRESSION, SCHEDULE)
    with pytest.raises(InputError, match=f"with {len(SIZES)} clients, the data has {len(SIZES) + 1}"):
        run(*args, state=state)


@pytest.mark.parametrize("method", [fedopt(1.2), with_fedcos(scaffold(), 0.2)], ids=["without FedCos", "with memories"])
def test_a_state_of_another_method_is_refused(method):
    state, _ = run_small(dataclasses.replace(SCHEDULE, rounds=1))
    with pytest.raises(InputError, match="another method or model"):
        run(KEY, method, OPTIMIZER, gaussian_data(SIZES), SOFTMAX_REGRESSION, SCHEDULE, state=state)


def test_short_arrays_of_numbers_a_client_do_not_pass_unseen():
    """Clients beyond the array get NaN, not the last number of it."""
    args = (gaussian_data(SIZES), SOFTMAX_REGRESSION, dataclasses.replace(SCHEDULE, rounds=3))
    state, _ = run(KEY, METHOD, client_sgd(jnp.array([0.1])), *args)
    assert jnp.all(jnp.isnan(state.params["w"]))


def test_state_buffers_are_donated():
    state, _ = run_small(dataclasses.replace(SCHEDULE, rounds=2))
    run_small(state=state)
    assert state.params["w"].is_deleted()


@pytest.mark.parametrize("length", [{"local_steps": 1}, {"local_steps": 5}, {"local_epochs": 1}], ids=str)
@pytest.mark.parametrize("chunk", [1, 4])
@pytest.mark.parametrize("method", [scaffold(), feddyn(0.1)], ids=["SCAFFOLD", "FedDyn"])
def test_client_memories_are_updated_in_place(method, chunk, length):
    """Of the memories of 2,000 clients a program holds one copy, in the buffer that it was given."""
    data = gaussian_data([2] * 1000 + [4] * 1000)
    schedule = Schedule(rounds=2, batch_size=2, cohort=20, chunk=chunk, devices=1, eval_batch=50, **length)
    state = init_state(KEY, method, SOFTMAX_REGRESSION, data.num_clients)
    shapes = schedule.shapes(data, SOFTMAX_REGRESSION)
    program, _ = compile_rounds(state, method, OPTIMIZER, data, SOFTMAX_REGRESSION, shapes, rounds=2)
    memory = program.memory_analysis()
    memories = sum(leaf.nbytes for leaf in jax.tree.leaves(state.clients))
    assert memory.alias_size_in_bytes >= memories
    assert memory.temp_size_in_bytes < memories / 2


@pytest.mark.parametrize("shape", [{"local_steps": 3}, {"local_epochs": 1}], ids=str)
def test_a_round_holds_nothing_of_the_population_but_its_state(shape):
    def temporary_bytes(population: int) -> int:
        data = gaussian_data([2] * population)
        schedule = Schedule(rounds=2, eval_every=2, batch_size=2, cohort=20, devices=1, eval_batch=50, **shape)
        state = init_state(KEY, fedcos(0.02), SOFTMAX_REGRESSION, population)
        shapes = schedule.shapes(data, SOFTMAX_REGRESSION)
        program, _ = compile_rounds(state, fedcos(0.02), OPTIMIZER, data, SOFTMAX_REGRESSION, shapes, rounds=2)
        return program.memory_analysis().temp_size_in_bytes

    # An array of the population has 4 bytes a client more; that the test set grows with it takes less than one.
    assert temporary_bytes(20_000) < temporary_bytes(2_000) + 18_000


def test_a_run_resumes_with_its_client_memories():
    data = gaussian_data(SIZES)
    args = (KEY, scaffold(), OPTIMIZER, data, SOFTMAX_REGRESSION)
    whole, _ = run(*args, SCHEDULE)
    state, _ = run(*args, dataclasses.replace(SCHEDULE, rounds=4))
    assert_same(run(*args, SCHEDULE, state=state)[0], whole)


def test_steps_taken_follow_participation():
    state, _ = run_small()
    assert int(state.steps_taken.sum()) == SCHEDULE.rounds * SCHEDULE.cohort * SCHEDULE.local_steps


def test_dropout_keys_differ_by_round_client_and_step():
    """A model whose loss is its noise: every (round, client, step) must draw its own."""
    model = Model(
        init=lambda key: jnp.zeros(1),
        apply=lambda params, x, key: x[:, 0] * 0 + (0 if key is None else jax.random.uniform(key)) + params.sum(),
        loss=lambda outputs, labels: outputs,
        correct=lambda outputs, labels: outputs > 0,
    )
    draws = {}
    for steps in (1, 2):
        schedule = Schedule(rounds=3, local_steps=steps, batch_size=2, cohort=1)
        _, history = run(KEY, fedcos(0.0), client_sgd(0.0), gaussian_data((5,)), model, schedule)
        draws[steps] = history.rounds.train_loss
    assert len(set(draws[1].tolist())) == 3
    second_steps = 2 * draws[2] - draws[1]
    assert len({*draws[1].tolist(), *second_steps.tolist()}) == 6


def test_evaluation_counts_every_row_once():
    rng = np.random.default_rng(0)
    outputs, labels = rng.normal(size=(103, 4)).astype(np.float32), rng.integers(0, 4, 103).astype(np.int32)
    model = Model(init=lambda key: jnp.zeros(1), apply=lambda params, x, key: x)
    test = Examples(jnp.asarray(outputs), jnp.asarray(labels))
    shifted = outputs - outputs.max(1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    for batch in (10, 103, 1000):
        result = evaluate(jnp.zeros(1), test, lambda x, key: x, model, batch)
        assert float(result.accuracy) == pytest.approx((outputs.argmax(1) == labels).mean())
        assert float(result.loss) == pytest.approx(-log_probabilities[np.arange(103), labels].mean(), rel=1e-5)


def test_small_floats_count_many_rows():
    """In bfloat16 itself 256 + 1 is 256."""
    rows = 1000
    model = Model(init=lambda key: jnp.zeros(1), apply=lambda params, x, key: x)
    test = Examples(jnp.eye(2)[np.zeros(rows, int)], jnp.asarray(np.arange(rows) % 10 == 0, jnp.int32))
    assert float(evaluate(jnp.zeros(1, jnp.bfloat16), test, lambda x, key: x, model, 50).accuracy) == pytest.approx(0.9)


def test_numpy_integers_are_whole_numbers():
    assert Schedule(rounds=np.int64(2), batch_size=np.int32(3)).rounds == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"batch_size": 0}, "batch size must be at least 1"),
        ({"local_steps": 2.5}, "local steps must be a whole number"),
        ({"cohort": 6}, "6 clients a round are more than the 5"),
        ({"chunk": 0}, "chunk must be at least 1"),
    ],
)
def test_bad_schedules(changes, message):
    with pytest.raises(InputError, match=message):
        run_small(dataclasses.replace(SCHEDULE, **changes))


def drawn_cohorts(rounds):
    """Those that a run from KEY draws by itself."""
    run_key = jax.random.split(KEY)[1]
    cohort_key = jax.random.split(run_key, 3)[0]
    return jnp.stack([sampling.cohort(jax.random.fold_in(cohort_key, r), len(SIZES), 4) for r in range(rounds)])


def test_given_cohorts_take_the_place_of_drawn_ones():
    data = gaussian_data(SIZES)._replace(cohorts=drawn_cohorts(SCHEDULE.rounds))
    drawn, given = run_small(), run(KEY, METHOD, OPTIMIZER, data, SOFTMAX_REGRESSION, SCHEDULE)
    assert_same((given[0].params, given[1]), (drawn[0].params, drawn[1]))
    others = data._replace(cohorts=(data.cohorts + 1) % len(SIZES))
    state, _ = run(KEY, METHOD, OPTIMIZER, others, SOFTMAX_REGRESSION, SCHEDULE)
    turns = np.bincount(np.asarray(others.cohorts).ravel(), minlength=len(SIZES))
    assert state.steps_taken.tolist() == (turns * SCHEDULE.local_steps).tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 8}, "the schedule has 8 rounds, but cohorts are given for 7"),
        ({"cohort": 3}, "the schedule has 3 clients a round, the cohorts given 4"),
    ],
)
def test_schedules_that_do_not_fit_the_cohorts(changes, message):
    data = gaussian_data(SIZES)._replace(cohorts=drawn_cohorts(SCHEDULE.rounds))
    with pytest.raises(InputError, match=message):
        dataclasses.replace(SCHEDULE, **changes).shapes(data, SOFTMAX_REGRESSION)
    assert dataclasses.replace(SCHEDULE, cohort=None).shapes(data, SOFTMAX_REGRESSION).cohort == 4


def test_fractions():
    assert [fraction_of(100, f) for f in (0.1, 0.2, 1.0, 0.001)] == [10, 20, 100, 1]
    for fraction in (0, -0.1, 1.01, float("nan")):
        with pytest.raises(InputError, match="must lie in"):
            fraction_of(100, fraction)
