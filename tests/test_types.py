"""The values that travel between rooms are pytrees."""

import jax
import numpy as np

from fedcos_jax.types import LocalContext, LocalMove, Penalty, no_memory
from tests.problems import gaussian_data


def test_rows_per_client():
    data = gaussian_data((4, 7, 6, 9))
    assert data.num_clients == 4
    assert data.sizes.tolist() == [4, 7, 6, 9]
    assert int(data.size_of(np.int32(2))) == 6


def test_data_passes_through_jit():
    data = gaussian_data()
    assert jax.tree.structure(jax.jit(lambda d: d)(data)) == jax.tree.structure(data)


def test_a_penalty_remembers_nothing_by_default():
    penalty = Penalty(no_memory, lambda params, context: 0.0, lambda memory, move: memory)
    assert penalty.client_init({"w": np.ones(2)}) == ()
    context = LocalContext({}, (), np.int32(0), {"own": np.ones(3)})
    change = penalty.client_update(context, LocalMove({}, None))
    assert change["own"].tolist() == [0, 0, 0]
