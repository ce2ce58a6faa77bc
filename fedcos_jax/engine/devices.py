"""Where a run computes: one `Placement`, a line of devices that share the clients of a round.

The devices are several GPUs, several TPU cores, or one XLA device per CPU core. Each device trains its share of the
cohort, and the sums over clients are added across devices. Everything else is the same on all of them. That is one
`shard_map` and one `psum` per round.
"""

import dataclasses
import os
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, Sharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from fedcos_jax import tree
from fedcos_jax.errors import require, require_at_least
from fedcos_jax.ops.blocks import largest_divisor
from fedcos_jax.types import Array

AXIS = "clients"
SAME, DIVIDED = P(), P(AXIS)
"""How a value lies on the devices. SAME: each device has all of it. DIVIDED: each has a part of its leading axis."""
Tree = TypeVar("Tree")

_JOINED_SIZE = 2**14
"""Leaves of at most this many numbers are joined before they are summed over devices, because CPU devices wait for each
other at every array. The exact limit does not matter: values up to 2²⁰ measured the same."""

_EXCHANGED = 2**20
"""How many numbers the devices exchange at once."""

_PATIENCE = "xla_cpu_collective_call_terminate_timeout_seconds"
_SILENCE = "xla_cpu_collective_call_warn_stuck_timeout_seconds"
_A_WEEK = 7 * 24 * 3600
"""XLA ends the process if a CPU device waits 40 seconds for another one. A device with three clients of ResNet18 may be
an hour behind a device with two, so the limit is raised."""


def use_all_cores() -> None:
    """Gives every CPU core an XLA device of its own, which is faster than one device that uses all cores.

    Call it before JAX computes anything. Later it has no effect. GPUs and TPUs are not affected.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        return
    flags = os.environ.get("XLA_FLAGS", "")
    if jax.__version_info__ >= (0, 8) and _PATIENCE not in flags:  # older versions do not know these flags
        os.environ["XLA_FLAGS"] = f"{flags} --{_PATIENCE}={_A_WEEK} --{_SILENCE}={_A_WEEK}".strip()


def available(count: int | None = None) -> "Placement":
    """The first `count` devices of this process, or all of them.

    Example:
        >>> schedule = fc.Schedule(rounds=10, batch_size=32, placement=fc.devices.available(1))
    """
    found = jax.local_devices()
    if count is not None:
        require_at_least(1, devices=count)
        require(count <= len(found), f"{count} devices are more than the {len(found)} there are")
    return Placement(tuple(found[:count]))


@dataclasses.dataclass(frozen=True)
class Placement:
    """The devices that share a round, as one hashable value. `available` makes it.

    `share`, `total`, `fetch_rows` and `return_rows` are for use inside a function that runs `on_each` device.

    Attributes:
        devices: in the order in which they share out clients.
    """

    devices: tuple[jax.Device, ...]

    @property
    def count(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @property
    def writes(self) -> bool:
        """Whether this process writes results, logs and checkpoints: only the first process does."""
        return jax.process_index() == 0

    def first(self, count: int) -> "Placement":
        """At most `count` of these devices."""
        return Placement(self.devices[:count])

    def sharding(self, spec: P) -> Sharding:
        """JAX's own description of SAME or DIVIDED on these devices."""
        if self.count == 1:
            return SingleDeviceSharding(self.devices[0])
        return NamedSharding(self._mesh, spec)

    def replicate(self, values: Tree) -> Tree:
        """The values on each device. Values that are there already are not copied."""
        return jax.device_put(values, self.sharding(SAME) if self.count > 1 else None)

    def split(self, values: Tree) -> Tree:
        """The values divided along their leading axes among the devices."""
        return jax.device_put(values, self.sharding(DIVIDED) if self.count > 1 else None)

    def split_traced(self, values: Tree) -> Tree:
        """`split` inside a compiled function, so that no device ever holds the whole."""
        if self.count == 1 or not jax.tree.leaves(values):
            return values
        return jax.lax.with_sharding_constraint(values, self.sharding(DIVIDED))

    def even_rows(self, rows: int) -> int:
        """The smallest number, at least `rows`, that the devices can divide evenly."""
        return -(-rows // self.count) * self.count

    def on_each(self, f: Callable[..., Tree], in_specs: Any, out_specs: Any) -> Callable[..., Tree]:
        """f as one program that every device runs.

        Args:
            f: what each device does.
            in_specs, out_specs: SAME or DIVIDED for the arguments and results, or for parts of them.
        """
        if self.count == 1:
            return f
        return jax.shard_map(f, mesh=self._mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)

    @property
    def _mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (AXIS,))

    def share(
        self, rows: tuple[Array, ...], padding: tuple[int, ...], work: Array | None = None, most: int | None = None
    ) -> tuple[Array, ...]:
        """This device's share of the rows.

        Args:
            rows: arrays [n], dealt out to the devices like cards.
            padding: for each array, the value of a row that does not count, for shares that are short.
            work: the cost of each row [n], in falling order. Each row then goes to the device with the least work so
                far. None if all rows cost the same.
            most: the most rows in a share by work, at least n / devices. None for n.
        """
        if self.count == 1:
            return rows
        place = jax.lax.axis_index(AXIS)
        if work is not None:
            return share_of_work(rows, padding, least_loaded(work, self.count, most) == place, most)
        return tuple(deal(array, self.count, value)[place] for array, value in zip(rows, padding, strict=True))

    def total(self, values: Tree) -> Tree:
        """Σ of the values over devices. Small leaves are summed as one array."""
        if self.count == 1:
            return values
        leaves, structure = jax.tree.flatten(values)
        joined, restore = ravel_pytree([leaf for leaf in leaves if leaf.size <= _JOINED_SIZE])
        small = iter(restore(jax.lax.psum(joined, AXIS)))
        large = iter(jax.lax.psum([leaf for leaf in leaves if leaf.size > _JOINED_SIZE], AXIS))
        return jax.tree.unflatten(structure, [next(small if leaf.size <= _JOINED_SIZE else large) for leaf in leaves])

    def fetch_rows(self, table: Tree, rows: Array) -> Tree:
        """Rows of a table that is divided among the devices. Each row may come from any device.

        Args:
            table: leaves [n, ...] over all devices, [n / devices, ...] on each device.
            rows: the rows that this device wants, followed by negative numbers. The length is the same on all devices.
        """

        def fetch(start: Array, fetched: Tree, size: int) -> Tree:
            wanted = jax.lax.all_gather(jax.lax.dynamic_slice(rows, (start,), (size,)), AXIS)

            def from_its_device(leaf: Array, so_far: Array) -> Array:
                place = wanted - jax.lax.axis_index(AXIS) * leaf.shape[0]
                here = ((place >= 0) & (place < leaf.shape[0])).reshape(*place.shape, *[1] * (leaf.ndim - 1))
                mine = jax.lax.psum_scatter(jnp.where(here, leaf[place], 0), AXIS)
                return jax.lax.dynamic_update_slice(so_far, mine, (start, *[0] * (leaf.ndim - 1)))

            return jax.tree.map(from_its_device, table, fetched)

        empty = jax.tree.map(lambda leaf: jnp.zeros((rows.shape[0], *leaf.shape[1:]), leaf.dtype), table)
        return self._exchange(fetch, rows, table, empty)

    def return_rows(self, table: Tree, rows: Array, values: Tree) -> Tree:
        """The table of `fetch_rows`, with new values in the rows that each device fetched."""

        def write(start: Array, table: Tree, size: int) -> Tree:
            mine = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, size), (rows, values))
            places, new = jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, AXIS, tiled=True), mine)
            held = jax.tree.leaves(table)[0].shape[0]
            return tree.set_rows(table, places - jax.lax.axis_index(AXIS) * held, new)

        return self._exchange(write, rows, table, table)

    def _exchange(self, step: Callable[[Array, Tree, int], Tree], rows: Array, table: Tree, start: Tree) -> Tree:
        """Loops over the rows of all devices, `size` at a time: step(first row, result so far, size) -> result."""
        numbers = sum(leaf[0].size for leaf in jax.tree.leaves(table))
        size = largest_divisor(rows.shape[0], at_most=_EXCHANGED // (self.count * numbers))
        longest = jax.lax.pmax(jnp.sum(rows >= 0), AXIS)
        return jax.lax.fori_loop(0, -(-longest // size), lambda i, so_far: step(i * size, so_far, size), start)


def deal(array: Array, hands: int, padding: int = 0) -> Array:
    """[n] -> [hands, ceil(n / hands)]. Neighbours go to different hands. A hand that is short gets padding."""
    short = -array.shape[0] % hands
    return jnp.pad(array, (0, short), constant_values=padding).reshape(-1, hands).T


def least_loaded(work: Array, hands: int, most: int | None = None) -> Array:
    """The hand of each row, [n], if each row goes to the hand with the least work so far.

    A hand takes at most `most` rows. If rows come in falling order of work and every hand has room, the busiest hand
    has at most 4/3 of the work of the busiest hand in the best of all divisions (R. L. Graham, 1969).
    """
    limit = work.shape[0] if most is None else most

    def give(state: tuple[Array, Array], amount: Array) -> tuple[tuple[Array, Array], Array]:
        loads, counts = state
        full = counts >= limit
        hand = jnp.argmin(jnp.where(full, jnp.iinfo(loads.dtype).max, loads)).astype(jnp.int32)
        return (loads.at[hand].add(amount), counts.at[hand].add(1)), hand

    return jax.lax.scan(give, (jnp.zeros(hands, work.dtype), jnp.zeros(hands, jnp.int32)), work)[1]


def share_of_work(
    rows: tuple[Array, ...], padding: tuple[int, ...], mine: Array, most: int | None = None
) -> tuple[Array, ...]:
    """Each array [n] with my rows first, in their order. Other rows become padding. Only `most` rows are kept."""
    mine_first = jnp.argsort(~mine, stable=True)[:most]
    return tuple(
        jnp.where(mine[mine_first], array[mine_first], value) for array, value in zip(rows, padding, strict=True)
    )
