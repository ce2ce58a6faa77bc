"""The weights λ_i of the aggregation: how much each client of the cohort counts.

Every rule is linear in the local moves. The server therefore needs one running sum, and never the stacked moves of the
whole cohort.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax.tree_util import Partial

from fedcos_jax.types import Array


def by_size(sizes: Array, num_steps: Array) -> Array:
    """λ_i = |D_i| / Σ_j |D_j|, the paper's weights.

    Args:
        sizes: rows of each client, [cohort].
        num_steps: local steps of each client in this round, [cohort].

    Returns:
        λ, [cohort].
    """
    sizes = sizes.astype(jnp.result_type(float))
    return sizes / jnp.sum(sizes)


def by_size_per_step(sizes: Array, num_steps: Array) -> Array:
    """λ_i = p_i τ / τ_i, where p_i = |D_i| / Σ_j |D_j|, τ_i is the client's number of local steps and τ = Σ_j p_j τ_j.

    This is FedNova's rule for local SGD without momentum. Every client counts by its mean move per step, so that a
    client with many local steps does not pull the global model its way. The arguments are those of `by_size`.
    """
    shares = by_size(sizes, num_steps)
    steps = jnp.maximum(num_steps, 1).astype(shares.dtype)
    return shares * jnp.sum(shares * steps) / steps


def for_equal_sizes(rule: Callable[[Array, Array], Array], sizes: Array, num_steps: Array) -> Array:
    """The rule as if all clients had the same size. `by_size` becomes 1 / |S|, the plain mean over the cohort S."""
    return rule(jnp.ones_like(sizes), num_steps)


uniform = Partial(for_equal_sizes, Partial(by_size))
"""λ_i = 1 / |S|. The arguments are those of `by_size`."""
