"""How the cohort of a round trains: its clients shared among the devices, each going through its share in chunks."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax import chunks, mesh, tree
from fedcos_jax.local import LocalTask, train_client
from fedcos_jax.models import Model
from fedcos_jax.schedule import Shapes
from fedcos_jax.telemetry import MoveSums, sum_moves
from fedcos_jax.types import (
    Array,
    ClientOptimizer,
    FederatedData,
    FederatedMethod,
    LocalContext,
    Memory,
    Params,
    RoundState,
)


class Clients(NamedTuple):
    """Some clients of a round: arrays [clients]."""

    ids: Array
    """Place in the population."""
    num_steps: Array
    """Local steps to take in this round."""
    steps_taken: Array
    """Local steps done in earlier rounds."""
    weights: Array
    """λ_i."""
    positions: Array
    """Place in the cohort."""


NOBODY = (0, 0, 0, 0, -1)
"""Stands where there are fewer clients than places."""


def chunk_trainer(
    state: RoundState,
    method: FederatedMethod,
    optimizer: ClientOptimizer,
    data: FederatedData,
    model: Model,
    shapes: Shapes,
) -> chunks.Step:
    """(memories, places in them, *Clients) -> (memories, (sums of moves, change of the mean memory))."""
    _, order_key, noise_key = jax.random.split(state.key, 3)
    round_key = jax.random.fold_in(noise_key, state.round)

    def train_for(
        limit: Array, client: Array, own: Memory, num_steps: Array, steps_taken: Array
    ) -> tuple[Params, Memory, Array]:
        context = LocalContext(state.params, state.memory, client, own)
        task = LocalTask(
            context=context,
            num_steps=num_steps,
            steps_taken=steps_taken,
            order_key=jax.random.fold_in(order_key, client),
            noise_key=jax.random.fold_in(round_key, client),
        )
        client_optimizer = optimizer(state.round, client)
        local, loss = train_client(task, data, model, method.penalty, client_optimizer, limit, shapes.batch_size)
        change = jax.tree.map(lambda c, o: c.astype(o.dtype), method.penalty.client_update(context, local), own)
        return local.move, change, loss

    def train_chunk(memories: Memory, places: Array, *rows: Array) -> tuple[Memory, tuple[MoveSums, Memory]]:
        clients = Clients(*rows)
        own = jax.tree.map(lambda leaf: leaf[places], memories)
        train_one = functools.partial(train_for, jnp.max(clients.num_steps))
        moves, changes, losses = tree.map_rows(train_one, clients.ids, own, clients.num_steps, clients.steps_taken)
        trained = clients.num_steps > 0
        memories = tree.add_to_rows(memories, jnp.where(trained, places, -1), changes)
        learnt = tree.combine(trained / data.num_clients, changes)
        return memories, (sum_moves(moves, losses, clients.weights, clients.positions), learnt)

    return train_chunk


def train(
    train_chunk: chunks.Step, memories: Memory, cohort: Clients, shapes: Shapes
) -> tuple[Memory, MoveSums, Memory]:
    """The cohort, shared among the devices, each going through its share in chunks."""
    if shapes.local_epochs:
        # Clients with as many steps stand next to each other, so that nobody in a chunk waits long for the others.
        order = jnp.argsort(-cohort.num_steps)
        cohort = Clients(*(array[order] for array in cohort))
    if shapes.devices > 1 and jax.tree.leaves(memories):
        memories, sums = _train_in_waves(train_chunk, memories, cohort, shapes)
    else:
        share = _share(cohort, shapes)
        memories, sums = _train_share(train_chunk, memories, share.ids, share, shapes)
    return memories, *mesh.total(sums, shapes.devices)


def _share(clients: Clients, shapes: Shapes, most: int | None = None) -> Clients:
    """This device's share of the clients: as many as the others have, or as many steps as they have."""
    work = clients.num_steps if shapes.local_epochs else None
    return Clients(*mesh.share(clients, shapes.devices, NOBODY, work, most))


def _train_share(
    train_chunk: chunks.Step, memories: Memory, places: Array, clients: Clients, shapes: Shapes
) -> tuple[Memory, tuple[MoveSums, Memory]]:
    """A device's clients in chunks; their memories are at these places of the ones given."""
    rows = (places, *clients)
    if shapes.local_epochs is None:
        return chunks.over_chunks(train_chunk, shapes.chunk, memories, rows)
    return chunks.over_unequal_chunks(train_chunk, shapes.chunk, clients.num_steps, memories, rows, (0, *NOBODY))


def _train_in_waves(
    train_chunk: chunks.Step, memories: Memory, cohort: Clients, shapes: Shapes
) -> tuple[Memory, tuple[MoveSums, Memory]]:
    """Clients that remember, on several devices: wave by wave, each device fetches the memories of its share.

    Wherever a client's memory is, it is trained where there is time for it. More than a wave's memories need never fit
    on a device besides those that are kept there.
    """

    def train_wave(memories: Memory, *wave: Array) -> tuple[Memory, tuple[MoveSums, Memory]]:
        share = _share(Clients(*wave), shapes, shapes.room)
        clients = jnp.where(share.num_steps > 0, share.ids, -1)
        own = mesh.fetch_rows(memories, clients, shapes.devices)
        own, sums = _train_share(train_chunk, own, jnp.arange(shapes.room), share, shapes)
        return mesh.return_rows(memories, clients, own, shapes.devices), sums

    padded = chunks.pad(cohort, -shapes.cohort % shapes.wave, NOBODY)
    return chunks.over_chunks(train_wave, shapes.wave, memories, padded)
