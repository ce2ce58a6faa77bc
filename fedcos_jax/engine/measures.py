"""Lengths, angles and distances of local moves, which show the mechanism of the paper. They are measured in the scan.

Let d_i = x_i - x̂ be the move of client i. All sums over pairs of clients follow from sums over single clients, so they
cost O(clients · parameters). The angle between two clients follows from the difference of their moves:

    Σ_{i≠j} cos θ_ij       = ‖Σ_i d_i/‖d_i‖‖² - n
    Σ_{i≠j} ‖d_i-d_j‖²     = 2 (n Σ_i ‖d_i‖² - ‖Σ_i d_i‖²)
    2 ‖d_0‖ ‖d_1‖ cos θ_01 = ‖d_0‖² + ‖d_1‖² - ‖d_0-d_1‖²
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax import tree
from fedcos_jax.types import Array, Params


class MoveSums(NamedTuple):
    """Sums over the moves of some clients. The sums of all chunks add up to the sums of the cohort."""

    vectors: Params
    """Stacked [4, ...]: Σ λ_i d_i, Σ d_i, Σ d_i/‖d_i‖, d_0 - d_1."""
    moved: Array
    """Number of clients with ‖d_i‖ > 0."""
    lengths: Array
    """Σ ‖d_i‖."""
    squares: Array
    """Σ ‖d_i‖²."""
    pair: Array
    """‖d_0‖ and ‖d_1‖, [2]."""
    weights: Array
    """Σ λ_i. It need not be 1."""
    losses: Array
    """Σ λ_i · (mean loss of client i over its local steps)."""

    @property
    def update(self) -> Params:
        """Σ λ_i d_i, which the server optimizer receives."""
        return tree.row(self.vectors, 0)


def sum_moves(moves: Params, losses: Array, weights: Array, positions: Array) -> MoveSums:
    """The sums over a chunk of the cohort.

    Args:
        moves: d_i, stacked: leaves [chunk, ...].
        losses: mean local loss of each client, [chunk].
        weights: λ_i, [chunk].
        positions: position of each client in the cohort, [chunk].
    """
    lengths = jax.vmap(tree.norm)(moves)
    moved = lengths > 0
    ones = jnp.ones_like(lengths)
    units = jnp.where(moved, 1 / jnp.where(moved, lengths, 1), 0)
    pair = jnp.stack([positions == 0, positions == 1]).astype(lengths.dtype)
    coefficients = jnp.stack([weights.astype(lengths.dtype), ones, units, pair[0] - pair[1]])
    return MoveSums(
        vectors=tree.combine(coefficients, moves),
        moved=jnp.sum(moved, dtype=lengths.dtype),
        lengths=jnp.sum(lengths),
        squares=jnp.sum(jnp.square(lengths)),
        pair=jnp.sum(pair * lengths[None], axis=1),
        weights=jnp.sum(weights),
        losses=jnp.sum(weights * losses),
    )


class RoundInfo(NamedTuple):
    """The measures of one round. A history stacks them over rounds. Those of pairs are NaN for a single client."""

    train_loss: Array
    """Local loss, penalty included: the mean over the local steps, then the λ-weighted mean over the cohort."""
    cosine_pair: Array
    """Cosine between the moves of the first two clients of the cohort."""
    cosine_mean: Array
    """Mean cosine over all pairs."""
    local_move: Array
    """‖d_0‖, the length of the move of the first client of the cohort."""
    local_move_mean: Array
    """Mean of ‖d_i‖ over the cohort."""
    distance_pair: Array
    """Distance between the local models of the first two clients."""
    distance_rms: Array
    """Root mean square distance over all pairs."""
    global_move: Array
    """Length of the move of the global model."""


def round_info(sums: MoveSums, global_move: Params, cohort_size: int) -> RoundInfo:
    """The measures of a round, from the sums over its whole cohort."""
    _, total, units, difference = (tree.row(sums.vectors, i) for i in range(4))
    pairs = float(cohort_size * (cohort_size - 1)) or jnp.nan
    squared_distances = 2 * (cohort_size * sums.squares - tree.squared_norm(total))
    distance = tree.norm(difference)
    return RoundInfo(
        train_loss=sums.losses / sums.weights,
        cosine_pair=_cosine(sums.pair[0], sums.pair[1], distance),
        cosine_mean=(tree.squared_norm(units) - sums.moved) / pairs,
        local_move=sums.pair[0],
        local_move_mean=sums.lengths / cohort_size,
        distance_pair=distance if cohort_size > 1 else jnp.full_like(distance, jnp.nan),
        distance_rms=jnp.sqrt(jnp.maximum(squared_distances, 0) / pairs),
        global_move=tree.norm(global_move),
    )


def _cosine(a: Array, b: Array, opposite: Array) -> Array:
    """The law of cosines, factored so that nothing overflows and small angles stay exact. NaN if a or b is 0."""
    difference = jnp.abs(a - b)
    halves = (opposite - difference) / jnp.minimum(a, b) * ((opposite + difference) / jnp.maximum(a, b)) / 2
    return jnp.where(jnp.minimum(a, b) > 0, 1 - halves, jnp.nan)
