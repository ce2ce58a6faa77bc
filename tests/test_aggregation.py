"""The weights of clients: their sums, their order and their special cases."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedcos_jax import aggregation

clients = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 50)), min_size=1, max_size=8)


@given(clients)
@settings(deadline=None, max_examples=30)
def test_weights_against_their_formulas(clients):
    sizes, steps = (jnp.array(column, jnp.int32) for column in zip(*clients, strict=True))
    shares = np.asarray(sizes) / np.asarray(sizes).sum()
    np.testing.assert_allclose(aggregation.by_size(sizes, steps), shares, rtol=1e-5)
    np.testing.assert_allclose(aggregation.uniform(sizes, steps), np.full(len(clients), 1 / len(clients)), rtol=1e-6)
    normalized = shares * (shares @ np.asarray(steps)) / np.asarray(steps)
    np.testing.assert_allclose(aggregation.by_size_per_step(sizes, steps), normalized, rtol=1e-5)


def test_equal_steps_make_fednova_fedavg():
    sizes, steps = jnp.array([3, 5, 8], jnp.int32), jnp.array([4, 4, 4], jnp.int32)
    np.testing.assert_allclose(aggregation.by_size_per_step(sizes, steps), aggregation.by_size(sizes, steps), rtol=1e-6)
