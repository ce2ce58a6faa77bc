"""How the cohort of a round trains: the devices share its clients, and each device takes its share in chunks."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax import tree
from fedcos_jax.engine import chunks
from fedcos_jax.engine.client import LocalTask, train_client
from fedcos_jax.engine.experiment import Federation
from fedcos_jax.engine.measures import MoveSums, sum_moves
from fedcos_jax.engine.schedule import Shapes
from fedcos_jax.types import Array, LocalContext, Memory, Params, RoundState


class Clients(NamedTuple):
    """Some clients of a round: arrays [clients]."""

    ids: Array
    """Index in the population."""
    num_steps: Array
    """Local steps to take in this round."""
    steps_taken: Array
    """Local steps done in earlier rounds."""
    weights: Array
    """λ_i."""
    positions: Array
    """Position in the cohort."""


NOBODY = (0, 0, 0, 0, -1)
"""The row of `Clients` that fills an empty place. No client trains there."""


class CohortSums(NamedTuple):
    """The result of training a cohort: sums over its clients."""

    moves: MoveSums
    memory_change: Memory
    """Σ of the changes of client memories, divided by the number of clients in the population."""


def train_cohort(state: RoundState, federation: Federation, cohort: Clients) -> tuple[Memory, CohortSums]:
    """Trains the cohort.

    Returns:
        All client memories, with those of the cohort updated, and the sums over the cohort.
    """
    shapes, memories = federation.shapes, state.client_memories
    train_chunk = _chunk_trainer(state, federation)
    if shapes.local_epochs:
        # Clients with similar numbers of steps become neighbours, so that no client in a chunk waits long for another.
        order = jnp.argsort(-cohort.num_steps)
        cohort = Clients(*(array[order] for array in cohort))
    if shapes.placement.count > 1 and jax.tree.leaves(memories):
        memories, sums = _train_in_waves(train_chunk, memories, cohort, shapes)
    else:
        share = _share(cohort, shapes)
        memories, sums = _train_share(train_chunk, memories, share.ids, share, shapes)
    return memories, shapes.placement.total(sums)


def _chunk_trainer(state: RoundState, federation: Federation) -> chunks.Step:
    """The function that trains a chunk: (memories, places in them, *Clients) -> (memories, CohortSums)."""
    method, data = federation.method, federation.data
    _, order_key, noise_key = jax.random.split(state.key, 3)
    round_key = jax.random.fold_in(noise_key, state.round)

    def train_for(
        limit: Array, client: Array, memory: Memory, num_steps: Array, steps_taken: Array
    ) -> tuple[Params, Memory, Array]:
        context = LocalContext(state.params, state.server_memory, client, memory)
        task = LocalTask(
            context=context,
            num_steps=num_steps,
            steps_taken=steps_taken,
            order_key=jax.random.fold_in(order_key, client),
            noise_key=jax.random.fold_in(round_key, client),
        )
        local, loss = train_client(task, federation, federation.optimizer(state.round, client), limit)
        change = jax.tree.map(lambda c, m: c.astype(m.dtype), method.penalty.client_update(context, local), memory)
        return local.move, change, loss

    def train_chunk(memories: Memory, places: Array, *rows: Array) -> tuple[Memory, CohortSums]:
        clients = Clients(*rows)
        theirs = jax.tree.map(lambda leaf: leaf[places], memories)
        train_one = functools.partial(train_for, jnp.max(clients.num_steps))
        moves, changes, losses = tree.map_rows(train_one, clients.ids, theirs, clients.num_steps, clients.steps_taken)
        trained = clients.num_steps > 0
        memories = tree.add_to_rows(memories, jnp.where(trained, places, -1), changes)
        memory_change = tree.combine(trained.astype(jnp.result_type(float)) / data.num_clients, changes)
        return memories, CohortSums(sum_moves(moves, losses, clients.weights, clients.positions), memory_change)

    return train_chunk


def _share(clients: Clients, shapes: Shapes, most: int | None = None) -> Clients:
    """This device's share. Devices get equally many clients, or about equally many steps if clients are unequal."""
    work = clients.num_steps if shapes.local_epochs else None
    return Clients(*shapes.placement.share(clients, NOBODY, work, most))


def _train_share(
    train_chunk: chunks.Step, memories: Memory, places: Array, clients: Clients, shapes: Shapes
) -> tuple[Memory, CohortSums]:
    """Trains a device's clients in chunks. `places` has the row of each client's memory in `memories`."""
    rows = (places, *clients)
    if shapes.local_epochs is None:
        return chunks.over_chunks(train_chunk, shapes.chunk, memories, rows)
    return chunks.over_unequal_chunks(train_chunk, shapes.chunk, clients.num_steps, memories, rows, (0, *NOBODY))


def _train_in_waves(
    train_chunk: chunks.Step, memories: Memory, cohort: Clients, shapes: Shapes
) -> tuple[Memory, CohortSums]:
    """Trains clients that have memories, on several devices, in waves.

    In each wave, every device fetches the memories of its share, trains these clients and returns the memories. Any
    device can therefore train any client, and it needs room for one wave of memories besides those that it keeps.
    """
    placement = shapes.placement

    def train_wave(memories: Memory, *wave: Array) -> tuple[Memory, CohortSums]:
        share = _share(Clients(*wave), shapes, shapes.room)
        clients = jnp.where(share.num_steps > 0, share.ids, -1)
        fetched = placement.fetch_rows(memories, clients)
        fetched, sums = _train_share(train_chunk, fetched, jnp.arange(shapes.room, dtype=jnp.int32), share, shapes)
        return placement.return_rows(memories, clients, fetched), sums

    padded = chunks.pad(cohort, -shapes.cohort % shapes.wave, NOBODY)
    return chunks.over_chunks(train_wave, shapes.wave, memories, padded)
