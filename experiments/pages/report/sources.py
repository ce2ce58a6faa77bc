"""Where the numbers behind a claim come from: our results on disk, or what the paper prints."""

from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from experiments.declare import Table
from experiments.figures import efficiency, trajectories
from experiments.store import stored

TAIL = 10
"""A measure of the mechanism is averaged over this many rounds at the end."""

BySeed = dict[int, float]


class Source(Protocol):
    """Where numbers come from. They are by seed, and empty if they are missing."""

    def accuracies(self, table: Table, setting: str, method: str, value: str) -> BySeed: ...
    def tail(self, table: Table, setting: str, method: str, column: str) -> BySeed: ...
    def factor(self, table: Table, setting: str, baseline: str) -> BySeed: ...
    def nearest(self, clients: int, method: str) -> BySeed: ...
    def swing(self, table: Table, setting: str, method: str) -> float | None: ...


class Ours(NamedTuple):
    """The results on disk."""

    profile: str
    folder: Path

    def accuracies(self, table: Table, setting: str, method: str, value: str) -> BySeed:
        found = stored(table, self.profile, self.folder, setting, method)
        return {result["seed"]: result[value] for result in found}

    def tail(self, table: Table, setting: str, method: str, column: str) -> BySeed:
        """Mean of a column of the history over the last rounds."""
        found = stored(table, self.profile, self.folder, setting, method)
        return {result["seed"]: float(np.mean(result["history"][column][-TAIL:])) for result in found}

    def factor(self, table: Table, setting: str, baseline: str) -> BySeed:
        """How many times fewer rounds FedCos needs. A run that never gets there counts as 0."""
        found = efficiency.savings(table, self.profile, self.folder, setting, baseline)
        return {seed: saving.factor or 0.0 for seed, saving in found.items()}

    def nearest(self, clients: int, method: str) -> BySeed:
        """How near the global model comes to the optimum of the quadratics."""
        path = trajectories.path(clients, method, self.profile, self.folder)
        return {0: float(trajectories.distances(clients, path).min())}

    def swing(self, table: Table, setting: str, method: str) -> float | None:
        """How far the accuracy of one of the last rounds deviates from their mean, pooled over the seeds."""
        histories = [result["history"] for result in stored(table, self.profile, self.folder, setting, method)]
        ends = [np.asarray(h["accuracy"])[np.asarray(h["round"]) > h["round"][-1] - TAIL] for h in histories]
        variances = [np.var(end, ddof=1) for end in ends if len(end) == TAIL]
        return float(np.sqrt(np.mean(variances))) if variances else None


class Paper:
    """The numbers that the paper prints, as if they were of one seed."""

    def accuracies(self, table: Table, setting: str, method: str, value: str) -> BySeed:
        number = table.paper_number(setting, method, value)
        return {} if number is None else {0: number}

    def tail(self, table: Table, setting: str, method: str, column: str) -> BySeed:
        return {}

    def factor(self, table: Table, setting: str, baseline: str) -> BySeed:
        return {}

    def nearest(self, clients: int, method: str) -> BySeed:
        return {}

    def swing(self, table: Table, setting: str, method: str) -> float | None:
        return None
