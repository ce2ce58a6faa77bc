"""The steps that a round of unequal clients takes beside its real ones: counted, not timed."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from fedcos_jax.engine import chunks, devices
from fedcos_jax.engine.devices import Placement
from fedcos_jax.engine.sampling import steps_per_epoch
from fedcos_jax.engine.schedule import Shapes
from fedcos_jax.types import Array

WASTE = 1.3
"""The limit of the steps taken, as a multiple of the real ones."""


def power_law_sizes(clients: int, exponent: float = 1.5, smallest: int = 10) -> np.ndarray:
    """The quantiles of a Pareto distribution: P(rows > n) = (smallest / n)^exponent."""
    quantiles = (np.arange(clients) + 0.5) / clients
    return np.floor(smallest * quantiles ** (-1 / exponent)).astype(np.int32)


def waste(clients: int, chunk: int, count: int, exchange: bool, batch: int) -> dict[str, float]:
    """The work of a cohort with power-law sizes and one local epoch, in multiples of the real steps.

    Args:
        clients: size of the cohort.
        chunk: clients trained at once on a device.
        count: number of devices.
        exchange: whether clients remember something, so that devices exchange memories.
        batch: rows per local step.
    """
    num_steps = steps_per_epoch(power_law_sizes(clients), batch)
    real = int(num_steps.sum())
    total, busiest = work_done(num_steps, chunk, count, exchange)
    return {
        "exchange": exchange,
        "clients": clients,
        "chunk": chunk,
        "devices": count,
        "steps_taken": total / real,
        "devices_times_busiest": count * busiest / real,
        "padded_to_the_longest": clients * int(num_steps.max()) / real,
    }


def work_done(num_steps: np.ndarray, chunk: int, count: int, exchange: bool = False) -> tuple[int, int]:
    """Steps that the chunks of a round take, waiting included: of all devices together, and of the busiest.

    If clients remember something, the devices exchange memories, and wait for each other after each wave.

    Args:
        num_steps: local steps of each client, [clients].
        chunk: clients trained at once on a device.
        count: number of devices. They are only counted, so there may be fewer of them.
        exchange: whether the devices exchange memories.
    """
    falling = -jnp.sort(-jnp.asarray(num_steps))
    clients = len(num_steps)
    shapes = Shapes(
        local_steps=1,
        local_epochs=1,
        batch_size=1,
        cohort=clients,
        chunk=min(chunk, clients),
        eval_batch=1,
        segment=1,
        per_client=False,
        placement=Placement(tuple(jax.devices()[:1] * count)),
    )
    wave, room = (shapes.wave, shapes.room) if exchange else (clients, clients)
    (padded,) = chunks.pad((falling,), -clients % wave, (0,))
    each = np.array([_steps_of_wave(steps, count, shapes.chunk, room) for steps in padded.reshape(-1, wave)])
    return int(each.sum()), int(each.max(axis=1).sum())


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _steps_of_wave(num_steps: Array, count: int, chunk: int, room: int) -> Array:
    """Steps that each device takes, [devices], for clients with `num_steps`, falling."""

    def step(carry: tuple, steps: Array) -> tuple[tuple, Array]:
        return carry, steps.shape[0] * jnp.max(steps)

    owners = devices.least_loaded(num_steps, count, room)

    def steps_of(device: Array) -> Array:
        share = devices.share_of_work((num_steps,), (0,), owners == device, room)
        return chunks.over_unequal_chunks(step, chunk, share[0], (), share, (0,))[1]

    return jax.lax.map(steps_of, jnp.arange(count))
