"""The static choices of a run: how long it is, how it is divided and where it computes."""

import dataclasses
from numbers import Integral
from typing import NamedTuple

import jax
import jax.numpy as jnp

from fedcos_jax.engine import devices, sampling
from fedcos_jax.engine.devices import Placement
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.models import Model, num_parameters
from fedcos_jax.types import Array, FederatedData

_CACHED_PARAMETERS = 150_000
"""How many parameters a CPU core can train within its own cache. Measured with MLPs of 15,000 and 159,000."""

_WAVE = 16
"""How many clients a device trains between two exchanges of client memories, rounded up to whole chunks. It is enough
to share out unequal clients evenly."""


class Shapes(NamedTuple):
    """The static shapes of a round: what a compiled program depends on besides the model and the data's shapes."""

    local_steps: int
    local_epochs: int | None
    batch_size: int
    cohort: int
    chunk: int
    eval_batch: int
    segment: int
    """Rounds between evaluations."""
    placement: Placement
    per_client: bool

    def num_steps(self, sizes: Array) -> Array:
        """Local steps of clients that own `sizes` rows, [cohort]."""
        if self.local_epochs is None:
            # With a constant 1, XLA would unroll the loop over steps and copy all client memories for every client.
            return jnp.where(sizes > 0, jnp.int32(self.local_steps), 0)
        return self.local_epochs * sampling.steps_per_epoch(sizes, self.batch_size)

    @property
    def wave(self) -> int:
        """Clients that all devices together train between two exchanges of client memories."""
        share = -(-self.cohort // self.placement.count)
        return self.placement.count * min(self.chunk * -(-_WAVE // self.chunk), share)

    @property
    def room(self) -> int:
        """Clients per wave that a device has room for. If clients are unequal, devices may get unequal numbers."""
        share = self.wave // self.placement.count
        return share if self.local_epochs is None else min(2 * share, self.wave)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long a run is and how it is divided.

    Attributes:
        rounds: rounds of aggregation.
        local_steps: K, local steps of each client per round.
        local_epochs: passes of each client over its own rows per round, instead of K steps.
        batch_size: rows per local step.
        cohort: clients per round, drawn without replacement. None for all.
        eval_every: rounds between evaluations. The last round is always evaluated.
        eval_batch: test rows evaluated at once.
        chunk: clients that a device trains at once. None for its whole share, or on a CPU for a number that suits the
            model. Results do not depend on it.
        placement: the devices that share a round. None for all. Results do not depend on it.
        per_client: whether evaluations also give the mean, the standard deviation and the worst decile of each metric
            over the clients.
    """

    rounds: int
    local_steps: int = 1
    local_epochs: int | None = None
    batch_size: int
    cohort: int | None = None
    eval_every: int = 1
    eval_batch: int = 2000
    chunk: int | None = None
    placement: Placement | None = None
    per_client: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and name not in ("placement", "per_client"):
                require(isinstance(value, Integral), f"{name.replace('_', ' ')} must be a whole number, got {value!r}")
                require_at_least(1, **{name.replace("_", " "): value})
                require(value < 2**31, f"{name.replace('_', ' ')} must be below 2**31, got {value}")

    def shapes(self, data: FederatedData, model: Model) -> Shapes:
        """The shapes of a round with this data and model."""
        population = data.num_clients
        cohort = self.cohort or (population if data.cohorts is None else data.cohorts.shape[1])
        require(cohort <= population, f"{cohort} clients per round are more than the {population} there are")
        if data.cohorts is not None:
            rounds, size = data.cohorts.shape
            require(cohort == size, f"the schedule has {cohort} clients per round, the given cohorts {size}")
            require(self.rounds <= rounds, f"the schedule has {self.rounds} rounds, but cohorts are given for {rounds}")
        placement = (self.placement or devices.available()).first(cohort)
        share = -(-cohort // placement.count)
        return Shapes(
            local_steps=self.local_steps,
            local_epochs=self.local_epochs,
            batch_size=self.batch_size,
            cohort=cohort,
            chunk=min(self.chunk or _suited_chunk(model) or share, share),
            eval_batch=self.eval_batch,
            segment=min(self.eval_every, self.rounds),
            placement=placement,
            per_client=self.per_client,
        )


def _suited_chunk(model: Model) -> int | None:
    """On a CPU, the number of clients that a core's cache has room for. Elsewhere None, for all of them."""
    if jax.default_backend() != "cpu":
        return None
    return model.cpu_chunk or max(1, _CACHED_PARAMETERS // num_parameters(model))


def fraction_of(population: int, fraction: float) -> int:
    """The cohort size for a fraction of the population, at least one client."""
    require(0 < fraction <= 1, f"the fraction of clients per round must lie in (0, 1], got {fraction:g}")
    return max(1, round(fraction * population))
