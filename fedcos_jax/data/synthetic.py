"""Synthetic federated data: the generator of the FedProx paper, on the device, for populations of any size.

Client k has a model W_k, b_k ~ N(u_k, 1) with u_k ~ N(0, α), and inputs x ~ N(v_k, Σ) with v_k ~ N(B_k, 1),
B_k ~ N(0, β), Σ_jj = j^-1.2; the label is argmax(W_k x + b_k). α sets how much the clients' models differ, β how
much their inputs do. As in the FedProx authors' code, α and β are standard deviations.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from fedcos_jax.data.dataset import Dataset, as_stored
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.types import Array, Examples

FEATURES, CLASSES = 60, 10
TEST_SHARE = 0.1
SMALLEST = 50
"""Rows of a client at least, unless fewer than twice as many a client are asked for."""
SIZE_MEAN, SIZE_DEVIATION = 4.0, 2.0
"""Of the logarithm of a client's rows."""
TILE = 2000
"""Rows generated at once; what is drawn does not depend on it."""
LARGEST_POPULATION = 100_000


class ClientModels(NamedTuple):
    """What decides the rows of each client, [clients, ...]."""

    weights: Array
    bias: Array
    center: Array
    """v_k, the mean of the inputs."""


def synthetic(
    alpha: float = 1.0, beta: float = 1.0, clients: int = 30, rows: int | None = None, seed: int = 0
) -> Dataset:
    """The dataset Synthetic(α, β), with its own clients.

    Args:
        alpha: how much the models of the clients differ.
        beta: how much the inputs of the clients differ.
        clients: their number.
        rows: training and test rows together; None for sizes as drawn, about 450 a client.
        seed: of everything.
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
        train=_generate(model_key, train_key, spread, train_owner),
        test=_generate(model_key, test_key, spread, test_owner),
        classes=CLASSES,
        preprocess=Partial(as_stored),
        groups=train_owner,
    )


def power_law_sizes(clients: int, rows: int | None, rng: np.random.Generator) -> np.ndarray:
    """Log-normal client sizes: many small clients, few large ones; they add up to `rows` if that is given."""
    drawn = rng.lognormal(SIZE_MEAN, SIZE_DEVIATION, clients)
    if rows is None:
        return SMALLEST + drawn.astype(np.int64)
    require(rows >= 4 * clients, f"{clients} clients need at least {4 * clients} rows, got {rows}")
    smallest = min(SMALLEST, rows // (2 * clients))
    ends = np.round(np.cumsum(drawn) / np.sum(drawn) * (rows - smallest * clients)).astype(np.int64)
    return smallest + np.diff(ends, prepend=0)


def _generate(model_key: Array, row_key: Array, spread: Array, owner: np.ndarray) -> Examples:
    """The rows of the clients in `owner`, which ascends; memory is that of the rows and one tile."""
    tiles = -(-len(owner) // TILE)
    padded = np.concatenate([owner, np.full(tiles * TILE - len(owner), owner[-1], np.int32)]).reshape(tiles, TILE)
    most = int(np.max(padded[:, -1] - padded[:, 0])) + 1
    models = 1 << (most - 1).bit_length()  # a power of two, so that similar populations share a compiled program
    x, y = _generate_tiles(model_key, row_key, spread, jnp.asarray(padded), models=models)
    return Examples(x[: len(owner)], np.asarray(y)[: len(owner)])


@partial(jax.jit, static_argnames="models")
def _generate_tiles(model_key: Array, row_key: Array, spread: Array, owner: Array, *, models: int):
    deviation = jnp.arange(1, FEATURES + 1) ** -0.6

    def tile(inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        index, owner = inputs
        # A tile draws the models of the few clients in it anew: those of all clients could outgrow the rows.
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
        key: of the population.
        spread: (α, β).
        client: its index.
    """
    cuts = np.cumsum([2, FEATURES * CLASSES, CLASSES])
    draws = jax.random.normal(jax.random.fold_in(key, client), (cuts[-1] + FEATURES,))
    means, weights, bias, center = jnp.split(draws, cuts)
    model_mean, input_mean = spread * means
    return ClientModels(
        weights=model_mean + weights.reshape(FEATURES, CLASSES), bias=model_mean + bias, center=input_mean + center
    )
