"""One round: who takes part, what is drawn for whom, and what it holds in memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import Model, client_sgd, devices, fedcos, feddyn, run, scaffold
from fedcos_jax.engine import sampling
from fedcos_jax.engine.loop import compile_segment
from fedcos_jax.engine.rounds import init_state, one_round
from tests.problems import gaussian_data, small_experiment

KEY = jax.random.key(7)
SIZES = (4, 7, 6, 9, 5)
ONE = devices.available(1)
SHAPE = {"rounds": 7, "cohort": 4, "placement": ONE}


def drawn_cohorts(rounds):
    """The cohorts that a run from KEY draws by itself."""
    run_key = jax.random.split(KEY)[1]
    cohort_key = jax.random.split(run_key, 3)[0]
    return jnp.stack([sampling.cohort(jax.random.fold_in(cohort_key, r), len(SIZES), 4) for r in range(rounds)])


def test_given_cohorts_take_the_place_of_drawn_ones():
    data = gaussian_data(SIZES)
    given = data._replace(cohorts=drawn_cohorts(7))
    states = [run(KEY, small_experiment(fedcos(0.2), data=one, **SHAPE))[0] for one in (data, given)]
    jax.tree.map(np.testing.assert_array_equal, states[0].params, states[1].params)
    others = data._replace(cohorts=(given.cohorts + 1) % len(SIZES))
    state, _ = run(KEY, small_experiment(fedcos(0.2), data=others, **SHAPE))
    turns = np.bincount(np.asarray(others.cohorts).ravel(), minlength=len(SIZES))
    assert state.steps_taken.tolist() == (turns * 3).tolist()


def test_steps_taken_follow_participation():
    state, _ = run(KEY, small_experiment(sizes=SIZES, **SHAPE))
    assert int(state.steps_taken.sum()) == 7 * 4 * 3


def test_a_round_is_pure():
    federation = small_experiment(fedcos(0.2), sizes=SIZES, **SHAPE).federation
    state = init_state(KEY, federation)
    step = jax.jit(one_round)
    first, second = step(state, federation), step(state, federation)
    jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(first[1]), jax.tree.leaves(second[1]))
    assert int(state.round) == 0
    assert int(first[0].round) == 1


def test_dropout_keys_differ_by_round_client_and_step():
    """A model whose loss is its noise: every (round, client, step) must draw its own."""
    model = Model(
        init=lambda key: jnp.zeros(1),
        apply=lambda params, x, key: x[:, 0] * 0 + (0 if key is None else jax.random.uniform(key)) + params.sum(),
        loss=lambda outputs, labels: outputs,
    )
    draws = {}
    for steps in (1, 2):
        still = {"optimizer": client_sgd(0.0), "model": model, "sizes": (5,)}
        _, history = run(KEY, small_experiment(fedcos(0.0), local_steps=steps, batch_size=2, cohort=1, **still))
        draws[steps] = history.rounds.train_loss
    assert len(set(draws[1].tolist())) == 3
    second_steps = 2 * draws[2] - draws[1]
    assert len({*draws[1].tolist(), *second_steps.tolist()}) == 6


@pytest.mark.parametrize("length", [{"local_steps": 1}, {"local_steps": 5}, {"local_epochs": 1}], ids=str)
@pytest.mark.parametrize("chunk", [1, 4])
@pytest.mark.parametrize("method", [scaffold(), feddyn(0.1)], ids=["SCAFFOLD", "FedDyn"])
def test_client_memories_are_updated_in_place(method, chunk, length):
    """A program holds one copy of the memories of 2,000 clients, in the buffer that it was given."""
    data = gaussian_data([2] * 1000 + [4] * 1000)
    shape = {"rounds": 2, "batch_size": 2, "cohort": 20, "eval_batch": 50, "placement": ONE, "chunk": chunk}
    program, (state, *_) = compile_segment(KEY, small_experiment(method, data=data, **shape | length))
    memory = program.memory_analysis()
    memories = sum(leaf.nbytes for leaf in jax.tree.leaves(state.client_memories))
    assert memory.alias_size_in_bytes >= memories
    assert memory.temp_size_in_bytes < memories / 2


@pytest.mark.parametrize("length", [{"local_steps": 3}, {"local_epochs": 1}], ids=str)
def test_a_round_holds_nothing_of_the_population_but_its_state(length):
    def temporary_bytes(population: int) -> int:
        shape = {"rounds": 2, "eval_every": 2, "batch_size": 2, "cohort": 20, "eval_batch": 50, "placement": ONE}
        experiment = small_experiment(fedcos(0.02), data=gaussian_data([2] * population), **shape | length)
        return compile_segment(KEY, experiment)[0].memory_analysis().temp_size_in_bytes

    # An array of the population has 4 bytes per client. The test set grows with it, by less than one byte per client.
    assert temporary_bytes(20_000) < temporary_bytes(2_000) + 18_000


def test_fifty_thousand_clients_per_round():
    """Numbers of pairs of clients exceed 32 bits."""
    experiment = small_experiment(
        sizes=[1] * 50_000, rounds=1, local_steps=1, batch_size=1, eval_batch=5000, chunk=12_500
    )
    _, history = run(KEY, experiment)
    assert np.isfinite(history.rounds.cosine_mean).all()
