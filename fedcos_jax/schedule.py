"""How long a run is and how it is divided: everything about it that is static."""

import dataclasses
from numbers import Integral
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax import sampling
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.models import Model, num_parameters
from fedcos_jax.types import Array, FederatedData

_CACHED_PARAMETERS = 150_000
"""Parameters whose training a CPU core's own cache holds; measured with the MLP at 15,000 and 159,000 parameters."""

_WAVE = 16
"""Clients of a device, or the next multiple of its chunk, between two exchanges of their memories with other devices:
enough to share out unequal ones evenly."""


class Shapes(NamedTuple):
    """The static shapes of a round: what a compiled program depends on besides the model and the data's shapes."""

    local_steps: int
    local_epochs: int | None
    batch_size: int
    cohort: int
    chunk: int
    eval_batch: int
    devices: int

    def num_steps(self, sizes: Array) -> Array:
        """Local steps of clients with so many rows, [cohort]."""
        if self.local_epochs is None:
            # A constant 1 would make XLA take the loop over steps apart, and then copy all memories for every client.
            return jnp.where(sizes > 0, jnp.int32(self.local_steps), 0)
        return self.local_epochs * sampling.steps_per_epoch(sizes, self.batch_size)

    @property
    def wave(self) -> int:
        """Clients that the devices train between two exchanges of memories, all devices together."""
        return self.devices * min(self.chunk * -(-_WAVE // self.chunk), -(-self.cohort // self.devices))

    @property
    def room(self) -> int:
        """Clients of a wave that a device has room for; by their work, one may get more of them than another."""
        share = self.wave // self.devices
        return share if self.local_epochs is None else min(2 * share, self.wave)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long a run is and how it is divided.

    Attributes:
        rounds: rounds of aggregation.
        local_steps: K, steps of each client in a round.
        local_epochs: instead of K steps, so many passes of each client over its own rows.
        batch_size: rows of a local step.
        cohort: clients in a round, drawn without replacement; None for all.
        eval_every: rounds between evaluations; the last round is always evaluated.
        eval_batch: test rows evaluated at once.
        chunk: clients trained at once on a device; None for all of its share, or on a CPU for what suits the model.
            Results do not depend on it.
        devices: local devices that share the cohort; None for all. Results do not depend on it.
    """

    rounds: int
    local_steps: int = 1
    local_epochs: int | None = None
    batch_size: int
    cohort: int | None = None
    eval_every: int = 1
    eval_batch: int = 2000
    chunk: int | None = None
    devices: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                require(isinstance(value, Integral), f"{name.replace('_', ' ')} must be a whole number, got {value!r}")
                require_at_least(1, **{name.replace("_", " "): value})
                require(value < 2**31, f"{name.replace('_', ' ')} must be below 2**31, got {value}")

    def shapes(self, data: FederatedData, model: Model) -> Shapes:
        """The shapes of a round."""
        population = data.num_clients
        cohort = self.cohort or (population if data.cohorts is None else data.cohorts.shape[1])
        require(cohort <= population, f"{cohort} clients a round are more than the {population} there are")
        if data.cohorts is not None:
            rounds, size = data.cohorts.shape
            require(cohort == size, f"the schedule has {cohort} clients a round, the cohorts given {size}")
            require(self.rounds <= rounds, f"the schedule has {self.rounds} rounds, but cohorts are given for {rounds}")
        available = jax.local_device_count()
        require((self.devices or 1) <= available, f"{self.devices} devices are more than the {available} there are")
        devices = min(self.devices or available, cohort)
        share = -(-cohort // devices)
        chunk = min(self.chunk or _suited_chunk(model) or share, share)
        return Shapes(self.local_steps, self.local_epochs, self.batch_size, cohort, chunk, self.eval_batch, devices)


def _suited_chunk(model: Model) -> int | None:
    """On a CPU, the clients whose models fit in a core's cache; elsewhere as many as there are."""
    if jax.default_backend() != "cpu":
        return None
    return model.cpu_chunk or max(1, _CACHED_PARAMETERS // num_parameters(model))


def fraction_of(population: int, fraction: float) -> int:
    """The cohort size of a participation fraction, at least one client."""
    require(0 < fraction <= 1, f"the fraction of clients a round must lie in (0, 1], got {fraction:g}")
    return max(1, round(fraction * population))
