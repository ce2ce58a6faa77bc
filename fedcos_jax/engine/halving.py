"""Successive halving: all points start, and after each rung only the best of them go on.

A rung is a number of rounds, at an evaluation. A point that goes on keeps its state, so its history is that of a run
without stops. The rounds of successive rungs grow by the same factor by which the points become fewer, so every rung
costs about the same (K. Jamieson and A. Talwalkar, 2016).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fedcos_jax import tree
from fedcos_jax.engine import evaluation
from fedcos_jax.engine.batches import Batches, Trial
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.loop import History
from fedcos_jax.errors import require


class Rung(NamedTuple):
    """A place where points stop."""

    rounds: int
    """Completed rounds at which the points are compared."""
    points: int
    """Points that get here."""
    kept: int
    """Points that go on from here, or that finish the run."""


class Halved(NamedTuple):
    """The result of `halving`, per point."""

    histories: list[History]
    """Up to the rung at which the point stopped."""
    rounds: list[int]
    """Completed rounds."""
    rungs: list[Rung]


def rungs(points: int, rounds: int, eval_every: int, reduction: int) -> list[Rung]:
    """Where points stop: rounds / Rᵏ, rounded up to an evaluation, with 1/R of the points going on.

    Args:
        points: how many points there are. Runs that differ only in their seed are one point.
        rounds: of a whole run.
        eval_every: rounds between evaluations.
        reduction: R, at least 2.

    Returns:
        The rungs. The last one is the end of the run.

    Example:
        >>> [(rung.rounds, rung.points) for rung in rungs(9, rounds=90, eval_every=1, reduction=3)]
        [(10, 9), (30, 3), (90, 1)]
    """
    require(reduction >= 2, f"halving keeps one of R points, with R at least 2, got {reduction}")
    require(points >= reduction, f"halving by {reduction} needs at least {reduction} points, and there are {points}")
    times, left = 0, points
    while left >= reduction:
        times, left = times + 1, left // reduction
    places = (math.ceil(rounds / reduction**k / eval_every) * eval_every for k in range(times, 0, -1))
    stops = sorted({place for place in places if place < rounds})
    require(
        bool(stops),
        f"halving by {reduction} needs an evaluation before the last round: there are {rounds} rounds, and "
        f"{eval_every} between evaluations",
    )
    found, alive = [], points
    for stop in stops:
        found.append(Rung(stop, alive, alive // reduction))
        alive //= reduction
    return [*found, Rung(rounds, alive, alive)]


def climb(plan: Sequence[Rung], advance: Callable[[list[int], int], Mapping[int, float]]) -> list[int]:
    """Goes up the rungs and returns the rounds that each point completed.

    Args:
        plan: from `rungs`.
        advance: (points, rounds) -> the score of each of them there. It trains them that far. Higher is better. If
            scores are equal, the point that comes first goes on. A point whose score is not a number goes last.
    """
    completed = [0] * plan[0].points
    alive = list(range(plan[0].points))
    for rung in plan:
        scores = advance(alive, rung.rounds)
        for point in alive:
            completed[point] = rung.rounds
        by_score = sorted(alive, key=lambda point: (math.isnan(scores[point]), -scores[point], point))
        alive = sorted(by_score[: rung.kept])
    return completed


def last_score(history: History) -> float:
    """How good the last evaluation is: the model's first metric, or its test loss. More is better."""
    return evaluation.score(tree.row(history.evaluation, -1)).goodness


def halving(
    trial: Callable[..., Trial],
    points: Sequence[Mapping[str, Any]],
    experiment: Experiment,
    reduction: int = 3,
    *,
    score: Callable[[History], float] = last_score,
    seeds: str = "seed",
    batch: int | None = None,
    memory: int | None = None,
    progress: Callable[[Rung], None] | None = None,
) -> Halved:
    """`sweep` with successive halving: at each rung, the best 1/R of the points go on.

    Args:
        trial: (values of a point) -> its trial, as in `sweep`.
        points: e.g. from `grid`.
        experiment: what all points share.
        reduction: R.
        score: of a history so far. Higher is better.
        seeds: the name of the values that only repeat a point. The score of a point is the mean over them.
        batch: as in `sweep`.
        memory: as in `sweep`.
        progress: called after every rung.

    Returns:
        Histories and completed rounds, in the order of `points`. The states of points that may go on are on the host.

    Example:
        >>> trial = lambda lr, seed: fc.Trial(jax.random.key(seed), optimizer=fc.client_sgd(lr))
        >>> found = fc.halving(trial, fc.grid(lr=[0.01, 0.02, 0.05, 0.1], seed=range(2)), experiment, 2)
    """
    candidates = _candidates(points, seeds)
    schedule = experiment.schedule
    plan = rungs(len(candidates), schedule.rounds, schedule.eval_every, reduction)
    make = lambda place: trial(**points[place])  # noqa: E731
    batches = Batches(len(points), make, experiment, batch=batch, memory=memory, keep=True)
    batches.check()
    found: dict[int, History] = {}

    def advance(alive: list[int], until: int) -> dict[int, float]:
        runs = [run for candidate in alive for run in candidates[candidate]]
        batches.forget(set(found).difference(runs))
        for histories in batches.advance(runs, until):
            found.update(histories)
        if progress is not None:
            progress(next(rung for rung in plan if rung.rounds == until))
        return {
            candidate: sum(score(found[run]) for run in candidates[candidate]) / len(candidates[candidate])
            for candidate in alive
        }

    completed = climb(plan, advance)
    rounds = {run: completed[candidate] for candidate, of_it in enumerate(candidates) for run in of_it}
    places = range(len(points))
    return Halved([found[place] for place in places], [rounds[place] for place in places], plan)


def _candidates(points: Sequence[Mapping[str, Any]], seeds: str) -> list[list[int]]:
    """The places of the points that differ only in their seed."""
    places: dict[tuple, list[int]] = {}
    for place, point in enumerate(points):
        same = tuple(sorted((name, _identity(value)) for name, value in point.items() if name != seeds))
        places.setdefault(same, []).append(place)
    return list(places.values())


def _identity(value: Any) -> Any:
    """The value if it can be compared at once. An array, or a method that holds one, stands for itself alone."""
    try:
        return hash(value), type(value).__name__
    except TypeError:
        return id(value), ""
