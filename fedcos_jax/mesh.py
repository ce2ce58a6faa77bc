"""The local devices as one axis, `clients`: several GPUs, TPU cores, or one XLA device for each CPU core.

Each device trains its share of the cohort and the sums of moves are added across devices; everything else is the same
on all of them. That is one `shard_map` and one `psum` a round: plain JAX, where DrJAX's map-and-reduce primitives would
add a dependency for two calls and could not deal clients out by their amount of work.
"""

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
from fedcos_jax.types import Array

AXIS = "clients"
SAME, DIVIDED = P(), P(AXIS)
Tree = TypeVar("Tree")

_SMALL = 2**14
"""Numbers of a leaf that is quicker joined to others than summed by itself; up to 2²⁰ it makes no difference."""

_EXCHANGED = 2**20
"""Numbers that devices hand to each other at once."""

_PATIENCE = "xla_cpu_collective_call_terminate_timeout_seconds"
_SILENCE = "xla_cpu_collective_call_warn_stuck_timeout_seconds"
_A_WEEK = 7 * 24 * 3600
"""XLA takes a CPU device for stuck that waits 40 seconds for another one, and ends the process. A device with three
clients of ResNet18 may well be an hour behind one with two."""


def use_all_cores() -> None:
    """Gives every CPU core an XLA device of its own: faster than one device whose every operation uses all cores.

    To be called before JAX computes anything; later it has no effect. GPUs and TPUs are not affected.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        return
    flags = os.environ.get("XLA_FLAGS", "")
    if jax.__version_info__ >= (0, 8) and _PATIENCE not in flags:  # older ones do not know the flags
        os.environ["XLA_FLAGS"] = f"{flags} --{_PATIENCE}={_A_WEEK} --{_SILENCE}={_A_WEEK}".strip()


def _mesh(devices: int) -> Mesh:
    return Mesh(np.array(jax.local_devices()[:devices]), (AXIS,))


def placement(devices: int, *, divided: bool) -> Sharding:
    """On the first so many devices: the same on each, or each its part of the leading axes."""
    if devices == 1:
        return SingleDeviceSharding(jax.local_devices()[0])
    return NamedSharding(_mesh(devices), DIVIDED if divided else SAME)


def replicate(values: Tree, devices: int) -> Tree:
    """The values on each of the first so many devices; what is there already is not copied."""
    return jax.device_put(values, placement(devices, divided=False) if devices > 1 else None)


def split(values: Tree, devices: int) -> Tree:
    """The values divided along their leading axes among the first so many devices."""
    return jax.device_put(values, placement(devices, divided=True) if devices > 1 else None)


def divide(values: Tree, devices: int) -> Tree:
    """`split` of values that are only being made, each device its part."""
    if devices == 1 or not jax.tree.leaves(values):
        return values
    return jax.lax.with_sharding_constraint(values, placement(devices, divided=True))


def even_rows(rows: int, devices: int) -> int:
    """So many rows or the next number that the devices can divide among them."""
    return -(-rows // devices) * devices


def on_each(f: Callable[..., Tree], devices: int, in_specs: Any, out_specs: Any) -> Callable[..., Tree]:
    """f as one program for so many devices, which share the work by `share` and `total`.

    Args:
        f: what each device does.
        devices: how many.
        in_specs, out_specs: for the arguments and results (or parts of them) SAME where all devices have the same, and
            DIVIDED where each has its part of the leading axes.
    """
    if devices == 1:
        return f
    return jax.shard_map(f, mesh=_mesh(devices), in_specs=in_specs, out_specs=out_specs, check_vma=False)


def share(
    rows: tuple[Array, ...],
    devices: int,
    padding: tuple[int, ...],
    work: Array | None = None,
    most: int | None = None,
) -> tuple[Array, ...]:
    """This device's share of the rows, inside a function that runs `on_each`.

    Args:
        rows: arrays [n], dealt out to the devices like cards.
        devices: how many.
        padding: for each array, the value of a row that is not to count, for where a share is short.
        work: what each row costs [n], falling, where they cost unequally: each row then goes to the device with the
            least work so far.
        most: rows that a share by work has room for, at least n / devices; None for all n.
    """
    if devices == 1:
        return rows
    place = jax.lax.axis_index(AXIS)
    if work is not None:
        return share_of_work(rows, padding, least_loaded(work, devices, most) == place, most)
    return tuple(deal(array, devices, value)[place] for array, value in zip(rows, padding, strict=True))


def total(values: Tree, devices: int) -> Tree:
    """Σ of the values over devices, inside a function that runs `on_each`.

    Small leaves are summed as one array: CPU devices wait for each other at every array.
    """
    if devices == 1:
        return values
    leaves, structure = jax.tree.flatten(values)
    joined, restore = ravel_pytree([leaf for leaf in leaves if leaf.size <= _SMALL])
    small = iter(restore(jax.lax.psum(joined, AXIS)))
    large = iter(jax.lax.psum([leaf for leaf in leaves if leaf.size > _SMALL], AXIS))
    return jax.tree.unflatten(structure, [next(small if leaf.size <= _SMALL else large) for leaf in leaves])


def fetch_rows(table: Tree, rows: Array, devices: int) -> Tree:
    """Rows of a table that is divided among the devices, wherever they are, inside a function that runs `on_each`.

    Args:
        table: leaves [n, ...] in all, [n / devices, ...] on each device.
        rows: the rows that this device wants, negative ones after all others; it has room for as many as the others.
        devices: how many.
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
    return _exchange(fetch, rows, table, empty, devices)


def return_rows(table: Tree, rows: Array, values: Tree, devices: int) -> Tree:
    """The table of `fetch_rows` with new values in the same rows of it, from this device and each of the others."""

    def write(start: Array, table: Tree, size: int) -> Tree:
        mine = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, size), (rows, values))
        places, new = jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, AXIS, tiled=True), mine)
        held = jax.tree.leaves(table)[0].shape[0]
        return tree.set_rows(table, places - jax.lax.axis_index(AXIS) * held, new)

    return _exchange(write, rows, table, table, devices)


def _exchange(step: Callable[[Array, Tree, int], Tree], rows: Array, table: Tree, start: Tree, devices: int) -> Tree:
    """A loop over the rows that any device has, some at a time: (first of them, so far, how many) -> so far."""
    numbers = sum(leaf[0].size for leaf in jax.tree.leaves(table))
    most = max(1, _EXCHANGED // (devices * numbers))
    size = max(size for size in range(1, rows.shape[0] + 1) if rows.shape[0] % size == 0 and size <= most)
    longest = jax.lax.pmax(jnp.sum(rows >= 0), AXIS)
    return jax.lax.fori_loop(0, -(-longest // size), lambda i, so_far: step(i * size, so_far, size), start)


def deal(array: Array, hands: int, padding: int = 0) -> Array:
    """[n] -> [hands, ceil(n / hands)], neighbours going to different hands; where a hand is short, padding."""
    short = -array.shape[0] % hands
    return jnp.pad(array, (0, short), constant_values=padding).reshape(-1, hands).T


def least_loaded(work: Array, hands: int, most: int | None = None) -> Array:
    """The hand that takes each row [n], if each goes to the one with the least work so far, and `most` rows at most.

    With the most work first, the busiest hand has at most 4/3 of the work it would have in the best of all divisions
    (R. L. Graham, 1969), if they have room.
    """
    limit = work.shape[0] if most is None else most

    def give(state: tuple[Array, Array], amount: Array) -> tuple[tuple[Array, Array], Array]:
        loads, counts = state
        full = counts >= limit
        hand = jnp.argmin(jnp.where(full, jnp.iinfo(loads.dtype).max, loads))
        return (loads.at[hand].add(amount), counts.at[hand].add(1)), hand

    return jax.lax.scan(give, (jnp.zeros(hands, work.dtype), jnp.zeros(hands, jnp.int32)), work)[1]


def share_of_work(
    rows: tuple[Array, ...], padding: tuple[int, ...], mine: Array, most: int | None = None
) -> tuple[Array, ...]:
    """Each array [n] with my rows first, in their order; the others are padding, cut off after `most`."""
    mine_first = jnp.argsort(~mine, stable=True)[:most]
    return tuple(
        jnp.where(mine[mine_first], array[mine_first], value) for array, value in zip(rows, padding, strict=True)
    )
