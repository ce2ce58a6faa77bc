"""The local devices as one axis, `clients`: several GPUs, TPU cores, or one XLA device for each CPU core.

Each device trains its share of the cohort and the sums of moves are added across devices; everything else is the same
on all of them. That is one `shard_map` and one `psum` a round: plain JAX, where DrJAX's map-and-reduce primitives would
add a dependency for two calls and could not deal clients out by their amount of work.
"""

import os
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from fedcos_jax.types import Array

AXIS = "clients"
Tree = TypeVar("Tree")


def use_all_cores() -> None:
    """Gives every CPU core an XLA device of its own: faster than one device whose every operation uses all cores.

    To be called before JAX computes anything; later it has no effect. GPUs and TPUs are not affected.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        return


def _mesh(devices: int) -> Mesh:
    return Mesh(np.array(jax.local_devices()[:devices]), (AXIS,))


def replicate(values: Tree, devices: int) -> Tree:
    """The values on each of the first so many devices; what is there already is not copied."""
    return jax.device_put(values, NamedSharding(_mesh(devices), P()) if devices > 1 else None)


def split(values: Tree, devices: int) -> Tree:
    """The values divided along their leading axes among the first so many devices."""
    return jax.device_put(values, NamedSharding(_mesh(devices), P(AXIS)) if devices > 1 else None)


def on_shares(f: Callable[..., Tree], devices: int) -> Callable[..., Tree]:
    """f(rows, shared) as one program in which every device has its own share of the rows."""
    if devices == 1:
        return f
    return jax.shard_map(f, mesh=_mesh(devices), in_specs=(P(AXIS), P()), out_specs=P(AXIS), check_vma=False)


def on_each(f: Callable[..., Tree], devices: int) -> Callable[..., Tree]:
    """f as one program for so many devices: all receive and return the same, and share work in `sum_over_devices`."""
    if devices == 1:
        return f
    return jax.shard_map(f, mesh=_mesh(devices), in_specs=P(), out_specs=P(), check_vma=False)


def sum_over_devices(
    f: Callable[..., Tree],
    devices: int,
    rows: tuple[Array, ...],
    padding: tuple[int, ...],
    work: Array | None = None,
) -> Tree:
    """Σ f(share of the rows) over devices, inside a function that runs `on_each` of them.

    Args:
        f: takes arrays with a share of the rows of each of `rows`.
        devices: how many.
        rows: arrays [n], dealt out to the devices like cards.
        padding: for each array, the value of a row that f does not count, for where a share is short.
        work: what each row costs [n], falling, where they cost unequally: each row then goes to the device with the
            least work so far.
    """
    if devices == 1:
        return f(*rows)
    place = jax.lax.axis_index(AXIS)
    if work is None:
        share = [_deal(array, devices, value)[place] for array, value in zip(rows, padding, strict=True)]
    else:
        share = share_of_work(rows, padding, least_loaded(work, devices) == place)
    return jax.lax.psum(f(*share), AXIS)


def _deal(array: Array, hands: int, padding: int) -> Array:
    """[n] -> [hands, ceil(n / hands)], neighbours going to different hands."""
    short = -array.shape[0] % hands
    return jnp.pad(array, (0, short), constant_values=padding).reshape(-1, hands).T


def least_loaded(work: Array, hands: int) -> Array:
    """The hand that takes each row [n], if each goes to the one with the least work so far.

    With the most work first, the busiest hand has at most 4/3 of the work it would have in the best of all divisions
    (R. L. Graham, 1969).
    """

    def give(loads: Array, amount: Array) -> tuple[Array, Array]:
        hand = jnp.argmin(loads)
        return loads.at[hand].add(amount), hand

    return jax.lax.scan(give, jnp.zeros(hands, work.dtype), work)[1]


def share_of_work(rows: tuple[Array, ...], padding: tuple[int, ...], mine: Array) -> list[Array]:
    """Each array [n] with my rows first, in their order; the others are padding."""
    mine_first = jnp.argsort(~mine, stable=True)
    return [jnp.where(mine[mine_first], array[mine_first], value) for array, value in zip(rows, padding, strict=True)]
