"""Synthetic federated data by the generator of the FedProx paper. It runs on the device, for up to 100,000 clients.

Client k has a model W_k, b_k ~ N(u_k, 1) with u_k ~ N(0, α), and inputs x ~ N(v_k, Σ) with v_k ~ N(B_k, 1),
B_k ~ N(0, β), Σ_jj = j^-1.2. The label is argmax(W_k x + b_k). α sets how much the clients' models differ, and β sets
how much their inputs differ. As in the FedProx authors' code, α and β are standard deviations.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.data.dataset import Dataset, as_stored
from fedcos_jax.data.entry import DatasetEntry
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.types import Array, Examples

FEATURES, CLASSES = 60, 10
TEST_SHARE = 0.1
SMALLEST = 50
"""Each client has at least this many rows, or half the mean if the user asks for a mean below 100."""
SIZE_MEAN, SIZE_DEVIATION = 4.0, 2.0
"""Of the logarithm of a client's rows beyond the smallest number."""
TILE = 2000
"""Rows that are generated at once."""
LARGEST_POPULATION = 100_000


class ClientModels(NamedTuple):
    """What decides the rows of each client."""

    weights: Array
    """W_k, [clients, features, classes]."""
    bias: Array
    """b_k, [clients, classes]."""
    center: Array
    """v_k, the mean of the inputs, [clients, features]."""


def generate(
    alpha: float = 1.0, beta: float = 1.0, clients: int = 30, rows: int | None = None, seed: int = 0
) -> Dataset:
    """The dataset Synthetic(α, β), with its own clients.

    Args:
        alpha: α, how much the models of the clients differ.
        beta: β, how much the inputs of the clients differ.
        clients: number of clients.
        rows: training and test rows of all clients together. None for sizes as drawn, about 450 rows per client.
        seed: decides everything random.

    Example:
        >>> dataset = fc.load("synthetic(1,1,100,20000)")
        >>> data = fc.federate(dataset, fc.partition.natural(dataset.groups))
    """
    require_at_least(0, alpha=alpha, beta=beta, seed=seed)
    require(1 <= clients <= LARGEST_POPULATION, f"clients must lie in 1..{LARGEST_POPULATION}, got {clients}")
    sizes = power_law_sizes(clients, rows, np.random.default_rng(seed))
    test_sizes = np.maximum(1, (TEST_SHARE * sizes).astype(np.int64))
    owners = np.arange(clients, dtype=np.int32)
    train_owner, test_owner = np.repeat(owners, sizes - test_sizes), np.repeat(owners, test_sizes)
    model_key, train_key, test_key = jax.random.split(jax.random.key(seed), 3)
    spread = jnp.asarray([alpha, beta], float)
    return Dataset(
        name=f"synthetic({alpha:g},{beta:g},{clients}" + ("" if rows is None else f",{rows}") + ")",
        train=_rows(model_key, train_key, spread, train_owner),
        test=_rows(model_key, test_key, spread, test_owner),
        classes=CLASSES,
        preprocess=Partial(as_stored),
        groups=train_owner,
        test_groups=test_owner,
    )


def power_law_sizes(clients: int, rows: int | None, rng: np.random.Generator) -> np.ndarray:
    """Rows of each client [clients], log-normal: many small clients, few large ones. They add up to `rows` if given."""
    drawn = rng.lognormal(SIZE_MEAN, SIZE_DEVIATION, clients)
    if rows is None:
        return SMALLEST + drawn.astype(np.int64)
    require(rows >= 4 * clients, f"{clients} clients need at least {4 * clients} rows, got {rows}")
    smallest = min(SMALLEST, rows // (2 * clients))
    ends = np.round(np.cumsum(drawn) / np.sum(drawn) * (rows - smallest * clients)).astype(np.int64)
    return smallest + np.diff(ends, prepend=0)


def _rows(model_key: Array, row_key: Array, spread: Array, owner: np.ndarray) -> Examples:
    """Rows of the clients `owner` [rows], in ascending order. The memory is that of the rows and of one tile."""
    tiles = -(-len(owner) // TILE)
    padded = np.concatenate([owner, np.full(tiles * TILE - len(owner), owner[-1], np.int32)]).reshape(tiles, TILE)
    most = int(np.max(padded[:, -1] - padded[:, 0])) + 1
    models = 1 << (most - 1).bit_length()  # a power of two, so that similar populations share a compiled program
    x, y = _tiles(model_key, row_key, spread, jnp.asarray(padded), models=models)
    return Examples(x[: len(owner)], np.asarray(y)[: len(owner)])


@partial(jax.jit, static_argnames="models")
def _tiles(model_key: Array, row_key: Array, spread: Array, owner: Array, *, models: int) -> tuple[Array, Array]:
    """Inputs [rows, features] and labels [rows] of the clients `owner` [tiles, TILE], tile after tile.

    Args:
        model_key: decides the clients' models.
        row_key: decides the noise of the rows.
        spread: (α, β).
        owner: client of each row.
        models: at least the number of different clients in a tile.
    """
    deviation = jnp.arange(1, FEATURES + 1, dtype=spread.dtype) ** -0.6

    def tile(inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        index, owner = inputs
        # The models of all clients could need more memory than the rows, so a tile draws those of its own clients.
        near = jax.vmap(partial(client_model, model_key, spread))(owner[0] + jnp.arange(models))
        own = jax.tree.map(lambda leaf: leaf[owner - owner[0]], near)
        noise = jax.random.normal(jax.random.fold_in(row_key, index), (TILE, FEATURES))
        x = own.center + deviation[None, :] * noise
        return x, jnp.argmax(jnp.einsum("rf,rfc->rc", x, own.weights) + own.bias, axis=-1).astype(jnp.int32)

    x, y = jax.lax.map(tile, (jnp.arange(owner.shape[0]), owner))
    return x.reshape(-1, FEATURES), y.reshape(-1)


def client_model(key: Array, spread: Array, client: Array) -> ClientModels:
    """The model and the input mean of one client.

    Args:
        key: the key of the population.
        spread: (α, β), [2].
        client: index of the client.
    """
    cuts = np.cumsum([2, FEATURES * CLASSES, CLASSES])
    draws = jax.random.normal(jax.random.fold_in(key, client), (cuts[-1] + FEATURES,))
    means, weights, bias, center = jnp.split(draws, cuts)
    model_mean, input_mean = spread * means
    return ClientModels(
        weights=model_mean + weights.reshape(FEATURES, CLASSES), bias=model_mean + bias, center=input_mean + center
    )


ENTRY = DatasetEntry(
    summary="FedProx's generator: synthetic(alpha,beta[,clients[,rows]]); natural clients",
    rows=None,
    shape=(FEATURES,),
    build=generate,
    numbers=(float, float, int, int),
    example="synthetic(1,1,100)",
)
