"""Who owns which rows. A partition is computed once, on the host.

Its name is a word, with a number behind it if it takes one: `iid`, `sorted`, `mixed90`, `shards2`,
`dirichlet0.3`, `natural`.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedcos_jax.errors import InputError, require, require_known


class Ownership(NamedTuple):
    """The rows of each client. Those of client i are `indices[offsets[i]:offsets[i + 1]]`."""

    indices: np.ndarray
    """Rows of the dataset, client after client, [rows]."""
    offsets: np.ndarray
    """Where the rows of each client begin in `indices`, and their number, [clients + 1]."""

    @classmethod
    def of(cls, parts: Sequence[np.ndarray]) -> "Ownership":
        """The ownership in which client i owns the rows `parts[i]`, [rows of client i]."""
        require(len(parts) > 0, "an ownership needs at least one client")
        offsets = np.cumsum([0, *map(len, parts)])
        require_rows(offsets)
        indices = np.concatenate(parts)
        _require_whole(indices, "the rows of the clients")
        return cls(indices.astype(np.int32), offsets.astype(np.int32))

    @property
    def num_clients(self) -> int:
        """Number of clients."""
        return len(self.offsets) - 1

    def parts(self) -> list[np.ndarray]:
        """The rows of each client, a list of [rows of client i]."""
        return np.split(self.indices, self.offsets[1:-1])


def require_rows(offsets: np.ndarray) -> None:
    """Raises InputError unless every client owns a row. A client without rows has nothing to train on.

    Args:
        offsets: as in `Ownership`, [clients + 1].
    """
    empty = np.flatnonzero(np.diff(offsets) <= 0)
    if len(empty):
        raise InputError(f"client {empty[0]} would own no rows; use fewer clients")


def require_fitting(ownership: Ownership, rows: int) -> None:
    """Raises InputError unless every client owns a row and every owned row is one of the dataset.

    Args:
        ownership: who owns which rows.
        rows: training rows of the dataset.
    """
    indices, offsets = map(np.asarray, ownership)
    _require_whole(indices, "the indices of an ownership")
    _require_whole(offsets, "the offsets of an ownership")
    require(
        len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(indices),
        f"the offsets of an ownership must go from 0 to its {len(indices)} indices: use Ownership.of(parts)",
    )
    require_rows(offsets)
    lowest, highest = indices.min(), indices.max()
    require(
        lowest >= 0 and highest < rows,
        f"the ownership names rows {lowest} to {highest}, but the dataset has training rows 0 to {rows - 1}: "
        "build it from this dataset's labels",
    )


def _require_whole(numbers: np.ndarray, what: str) -> None:
    require(
        numbers.ndim == 1 and numbers.dtype.kind in "iu",
        f"{what} must be a list of whole numbers, got {numbers.dtype} {list(numbers.shape)}",
    )


def iid(labels: np.ndarray, clients: int, rng: np.random.Generator) -> Ownership:
    """All rows are shuffled and divided evenly."""
    _check_counts(labels, clients)
    return Ownership.of(np.array_split(rng.permutation(len(labels)), clients))


def sorted_by_label(labels: np.ndarray, clients: int, rng: np.random.Generator | None = None) -> Ownership:
    """Totally non-IID: rows are sorted by label and divided evenly. Nothing is random, so `rng` is not used."""
    _check_classes(labels, clients)
    return Ownership.of(np.array_split(_sorted_rows(labels), clients))


def mixed(labels: np.ndarray, clients: int, rng: np.random.Generator, share: float) -> Ownership:
    """Part IID: `share` of each client's rows is homogeneous, and the rest is sorted by label.

    The first `share` of the rows of each class goes to a common pool, which is shuffled and divided evenly. The others
    stay sorted and are divided evenly. The paper's "90% non-IID" is share 0.1.
    """
    _check_classes(labels, clients)
    require(0 <= share <= 1, f"the homogeneous share must lie in [0, 1], got {share:g}")
    rows = _sorted_rows(labels)
    by_class = np.split(rows, np.flatnonzero(np.diff(labels[rows])) + 1)
    cuts = [round(len(group) * share) for group in by_class]
    pool = rng.permutation(np.concatenate([group[:cut] for group, cut in zip(by_class, cuts, strict=True)]))
    rest = np.concatenate([group[cut:] for group, cut in zip(by_class, cuts, strict=True)])
    # Reversed, the larger pieces of the pool join the smaller pieces of the rest. Sizes differ by one at most.
    own, common = np.array_split(rest, clients), np.array_split(pool, clients)[::-1]
    return Ownership.of([np.concatenate(pieces) for pieces in zip(own, common, strict=True)])


def _deal(rng: np.random.Generator, clients: int, per_client: int) -> np.ndarray:
    """The numbers of the shards that each client gets, [clients, per_client]."""
    return rng.permutation(clients * per_client).reshape(clients, per_client)


def shards(
    labels: np.ndarray, clients: int, rng: Any, per_client: int, deal: Callable[[Any, int, int], np.ndarray] = _deal
) -> Ownership:
    """Rows are sorted by label and cut into clients · per_client shards, which are dealt out without replacement.

    Args:
        labels: class of each row, [rows].
        clients: number of clients.
        rng: the generator that `deal` draws from.
        per_client: shards per client.
        deal: (rng, clients, per_client) -> the numbers of the shards that each client gets, [clients, per_client].
    """
    _check_classes(labels, clients)
    require(per_client >= 1, f"shards per client must be at least 1, got {per_client}")
    count = clients * per_client
    require(count <= len(labels), f"{count} shards are more than the {len(labels)} rows")
    pieces = np.array_split(_sorted_rows(labels), count)
    hands = deal(rng, clients, per_client)
    return Ownership.of([np.concatenate([pieces[shard] for shard in hand]) for hand in hands])


def dirichlet(labels: np.ndarray, clients: int, rng: np.random.Generator, alpha: float) -> Ownership:
    """Each class is divided among the clients in Dirichlet(α) proportions. Every client gets at least one row."""
    _check_classes(labels, clients)
    require(0 < alpha < math.inf, f"the Dirichlet concentration must be positive, got {alpha:g}")
    parts: list[list[np.ndarray]] = [[] for _ in range(clients)]
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        cuts = np.cumsum(rng.dirichlet(np.full(clients, alpha)))[:-1]
        for part, piece in zip(parts, np.split(rows, np.round(cuts * len(rows)).astype(int)), strict=True):
            part.append(piece)
    owned = [np.concatenate(part) for part in parts]
    for empty in (i for i, rows in enumerate(owned) if len(rows) == 0):
        richest = max(range(clients), key=lambda i: len(owned[i]))
        owned[empty], owned[richest] = owned[richest][-1:], owned[richest][:-1]
    return Ownership.of(owned)


def natural(groups: np.ndarray) -> Ownership:
    """Each group becomes one client. Clients are in the order of the group ids, and their rows keep their order.

    Args:
        groups: the group of each row, [rows].
    """
    require(len(groups) > 0, "a natural partition needs at least one row")
    rows = _sorted_rows(groups)
    return Ownership.of(np.split(rows, np.flatnonzero(np.diff(groups[rows])) + 1))


def _check_classes(labels: np.ndarray, clients: int) -> None:
    _check_counts(labels, clients)
    require(
        labels.ndim == 1 and labels.dtype.kind in "iu",
        f"a partition by label needs one class per row, not labels of type {labels.dtype} and shape "
        f"{list(labels.shape)}: choose iid, natural, or rows of your own by Ownership.of",
    )


def _sorted_rows(labels: np.ndarray) -> np.ndarray:
    return np.argsort(labels, kind="stable")


def _check_counts(labels: np.ndarray, clients: int) -> None:
    require(isinstance(clients, int | np.integer), f"the number of clients must be a whole number, got {clients!r}")
    require(clients >= 1, f"the number of clients must be at least 1, got {clients}")
    require(clients <= len(labels), f"{clients} clients are more than the {len(labels)} rows to share out")


class PartitionEntry(NamedTuple):
    """One row of the PARTITIONS registry."""

    example: str
    summary: str
    build: Callable[..., Ownership] | None
    """(labels, clients, rng[, number]) -> ownership. None if the dataset brings its own clients."""
    number: Callable[[str], float] | None = None
    """Reads the number behind the name. None if there is none."""


PARTITIONS: dict[str, PartitionEntry] = {
    "iid": PartitionEntry("iid", "shuffled and divided evenly", iid),
    "sorted": PartitionEntry("sorted", "totally non-IID: sorted by label, divided evenly", sorted_by_label),
    "mixed": PartitionEntry(
        "mixed90", "90% non-IID: 10% of each client's rows are homogeneous", mixed, lambda text: 1 - float(text) / 100
    ),
    "shards": PartitionEntry("shards2", "sorted by label into 2 shards per client, dealt at random", shards, int),
    "dirichlet": PartitionEntry("dirichlet0.3", "classes divided in Dirichlet(0.3) proportions", dirichlet, float),
    "natural": PartitionEntry("natural", "the dataset's own clients", None),
}


def build(name: str, labels: np.ndarray, clients: int | None, seed: int, groups: np.ndarray | None = None) -> Ownership:
    """The partition of this name. The same seed gives the same partition.

    Args:
        name: e.g. `sorted`, `mixed90`, `shards2`.
        labels: class of each row, [rows].
        clients: number of clients. None for as many as the dataset has, with `natural`.
        seed: decides everything random.
        groups: the dataset's own client of each row, [rows], for `natural`.

    Example:
        >>> fc.partition.build("sorted", np.array([1, 0, 1, 0]), clients=2, seed=0).parts()
        [array([1, 3], dtype=int32), array([0, 2], dtype=int32)]
    """
    require(isinstance(seed, int | np.integer), f"the seed must be a whole number, got {seed!r}")
    require(0 <= seed < 2**32, f"the seed must be at least 0 and below 2**32, got {seed}")
    entry, number = parse(name)
    if entry.build is None:
        if groups is None:
            raise InputError("this dataset has no clients of its own; choose another partition than 'natural'")
        require(len(groups) == len(labels), f"{len(groups)} rows have a client of their own, but {len(labels)} a label")
        ownership = natural(np.asarray(groups))
        own = ownership.num_clients
        require(
            clients in (None, own),
            f"the dataset has {own} clients of its own, so the partition 'natural' cannot have {clients}: leave it out",
        )
        return ownership
    arguments = () if number is None else (number,)
    return entry.build(labels, clients, np.random.default_rng(seed), *arguments)


def parse(name: str) -> tuple[PartitionEntry, float | None]:
    """The entry that a name like `shards2` means, and its number."""
    match = re.fullmatch(r"([a-z]+)([0-9.]*)", name)
    word, digits = match.groups() if match else (name, "")
    require_known(word, PARTITIONS, "partition")
    entry = PARTITIONS[word]
    if entry.number is None:
        require(not digits, f"partition {word!r} takes no number, got {name!r}")
        return entry, None
    try:
        return entry, entry.number(digits)
    except ValueError:
        raise InputError(f"partition {name!r} needs a number behind its name, like {entry.example!r}") from None
