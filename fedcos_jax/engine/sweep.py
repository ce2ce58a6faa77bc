"""Many runs as one compiled program: a grid of hyper-parameters, seeds and partitions."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import jax
import numpy as np

from fedcos_jax.engine.batches import Batches, Trial
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.loop import History
from fedcos_jax.errors import require


class Grid(Sequence[dict[str, Any]]):
    """Every combination of the axes' values, in the order of nested loops. A point is made when it is asked for."""

    def __init__(self, axes: Mapping[str, Iterable[Any]]) -> None:
        self.axes = {name: list(axis) for name, axis in axes.items()}
        for name, axis in self.axes.items():
            require(bool(axis), f"the axis {name} of the grid has no values")

    def __len__(self) -> int:
        return math.prod(map(len, self.axes.values()))

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        rest, point = range(len(self))[place], {}
        for name, axis in reversed(self.axes.items()):
            rest, digit = divmod(rest, len(axis))
            point[name] = axis[digit]
        return {name: point[name] for name in self.axes}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.axes, values, strict=True)) for values in itertools.product(*self.axes.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(lambda a, b: a == b, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, more: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*self, *more]

    def __repr__(self) -> str:
        return f"Grid of {len(self)} points: {', '.join(f'{name} {len(axis)}' for name, axis in self.axes.items())}"


def grid(**axes: Iterable[Any]) -> Grid:
    """Every combination of the axes' values.

    Example:
        >>> len(grid(lr=[0.1, 0.2], seed=range(3)))
        6
    """
    return Grid(axes)


def sweep(
    trial: Callable[..., Trial],
    points: Sequence[Mapping[str, Any]],
    experiment: Experiment,
    *,
    batch: int | None = None,
    memory: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> History:
    """The histories of all points, stacked: leaves [points, ...], on the host.

    Args:
        trial: (values of a point) -> its trial. All trials must have one structure; their numbers may differ. It is
            called once to check the trial, and again when the point starts.
        points: e.g. from `grid`.
        experiment: what all points share.
        batch: runs in one `vmap` on a device. None for as many as fit in memory, and on a CPU for one.
        memory: bytes that a batch may take of a device. None for most of what is free.
        progress: called with the number of points done, after every batch.

    Example:
        >>> trial = lambda strength, seed: fc.Trial(jax.random.key(seed), fc.fedcos(strength))
        >>> histories = fc.sweep(trial, fc.grid(strength=[0, 0.02], seed=range(3)), experiment)
    """
    batches = Batches(len(points), lambda place: trial(**points[place]), experiment, batch=batch, memory=memory)
    batches.check()
    done: dict[int, History] = {}
    for histories in batches.advance(range(len(points)), experiment.schedule.rounds):
        done |= histories
        if progress is not None:
            progress(len(done))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *(done[place] for place in range(len(points))))
