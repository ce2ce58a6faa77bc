"""A cohort's sums are those of its clients one by one, however they are shared and chunked."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import devices, scaffold
from fedcos_jax.engine.cohort import Clients, train_cohort
from fedcos_jax.engine.rounds import init_state
from tests.problems import small_experiment

IDS = [3, 0, 2]
WEIGHTS = [0.5, 0.2, 0.3]


def sums_of(ids, weights, positions, **shape):
    placement = devices.available(1)
    federation = small_experiment(scaffold(), batch_size=2, placement=placement, **shape).federation
    state = init_state(jax.random.key(0), federation)
    chosen = jnp.array(ids, jnp.int32)
    steps = federation.shapes.num_steps(federation.data.size_of(chosen))
    places = jnp.array(positions, jnp.int32)
    cohort = Clients(chosen, steps, jnp.zeros_like(steps), jnp.array(weights), places)
    return jax.jit(train_cohort)(state, federation, cohort)


@pytest.mark.parametrize("shape", [{"chunk": 1}, {"chunk": 2}, {"chunk": 2, "local_epochs": 2}], ids=str)
def test_sums_are_those_of_single_clients(x64, shape):
    memories, sums = sums_of(IDS, WEIGHTS, range(3), cohort=3, **shape)
    alone = [
        sums_of([client], [weight], [place], cohort=1, **shape)
        for place, (client, weight) in enumerate(zip(IDS, WEIGHTS, strict=True))
    ]
    added = jax.tree.map(lambda *leaves: sum(leaves), *(one for _, one in alone))
    chex.assert_trees_all_close(sums, added, rtol=1e-9, atol=1e-12)
    for client, (memory, _) in zip(IDS, alone, strict=True):
        chex.assert_trees_all_close(
            jax.tree.map(lambda leaf, client=client: leaf[client], memories),
            jax.tree.map(lambda leaf, client=client: leaf[client], memory),
            rtol=1e-9,
        )


def test_clients_outside_the_cohort_keep_their_memories(x64):
    memories, sums = sums_of(IDS, WEIGHTS, range(3), cohort=3)
    assert not any(np.any(leaf[1]) for leaf in jax.tree.leaves(memories))
    means = jax.tree.map(lambda leaf: leaf.sum(0) / 4, memories)
    chex.assert_trees_all_close(sums.memory_change, means, rtol=1e-9)
