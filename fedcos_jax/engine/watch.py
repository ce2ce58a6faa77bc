"""A run watches itself for divergence. Each sign of it is told once, with the usual fix."""

import math
import warnings
from collections.abc import Iterable, Iterator

import jax.numpy as jnp
import numpy as np

from fedcos_jax.engine.callbacks import Report
from fedcos_jax.engine.evaluation import score
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.models import cross_entropy
from fedcos_jax.optimizers import learning_rate_of
from fedcos_jax.penalties import cosine_numbers

_RISEN = 10.0
"""A training loss this many times that of a guess, or that of the first round, is a sign. No stored run of the paper
reaches 1.1 times that of its first round."""
_FALLEN, _FALLEN_WITH_COHORTS = 0.10, 0.25
"""Three evaluations in a row this far below the best one are a sign. With cohorts accuracy swings: the mean of three is
up to 0.18 below the best in the stored runs of Table IV."""
_CHANCE = 2.5
"""Five standard deviations of the accuracy on one test row. On few test rows accuracy swings by chance."""

Sign = tuple[str, str]
"""The kind of a sign, and the sentence that tells it."""


class DivergenceWarning(UserWarning):
    """A run shows a sign of divergence."""


class Watch:
    """A callback that watches for a loss that rises or is not finite, and for an accuracy that falls far.

    Attributes:
        signs: what it saw so far, one sentence each.
        diverged: whether the run itself showed a sign, and not only its numbers before the start.
    """

    def __init__(self, experiment: Experiment, *, stop: bool = False, tell: bool = True) -> None:
        """Looks at the numbers of the experiment first.

        Args:
            experiment: what is run.
            stop: whether to end the run at the first sign.
            tell: whether to give each sign as a DivergenceWarning too.
        """
        self.signs: list[str] = []
        self.diverged = False
        self._stop, self._tell = stop, tell
        self._kinds: set[str] = set()
        self._fix = _usual_fix(experiment)
        everyone = experiment.federation.shapes.cohort == experiment.data.num_clients
        by_chance = _CHANCE / math.sqrt(experiment.data.test.y.shape[0])
        self._fallen = max(_FALLEN if everyone else _FALLEN_WITH_COHORTS, by_chance)
        self._start = _loss_of_guessing(experiment)
        self._best, self._best_round = -math.inf, 0
        self._recent: list[float] = []
        self._note(_long_first_step(experiment))

    def __call__(self, report: Report) -> bool:
        """Looks at a report, and says whether the run should end."""
        found = [*self._in_losses(report), *self._in_evaluation(report)]
        self.diverged = self.diverged or bool(found)
        self._note(found)
        return self._stop and self.diverged

    def _in_losses(self, report: Report) -> Iterator[Sign]:
        losses = np.asarray(report.rounds.train_loss, np.float64).tolist()
        for round, loss in enumerate(losses, start=report.completed - len(losses) + 1):
            if not math.isfinite(loss):
                yield "loss", f"the training loss is not a finite number in round {round}; {self._fix}"
            elif self._start is None:
                self._start = abs(loss), "in the first round"
            elif loss > _RISEN * self._start[0]:
                was = f"{self._start[0]:.3g} {self._start[1]}"
                yield "risen", f"the training loss is {loss:.3g} in round {round}, but it is {was}; {self._fix}"

    def _in_evaluation(self, report: Report) -> Iterator[Sign]:
        if report.evaluation is None:
            return
        if not math.isfinite(float(report.evaluation.loss)):
            yield "test loss", f"the test loss is not a finite number after round {report.completed}; {self._fix}"
        name, value, share = score(report.evaluation)
        if not share:
            return
        if value > self._best:
            self._best, self._best_round = value, report.completed
        self._recent = [*self._recent[-2:], value]
        highest, best = 100 * max(self._recent), 100 * self._best
        if len(self._recent) == 3 and highest < best - 100 * self._fallen:
            yield (
                "fallen",
                f"the {name.replace('_', ' ')} was at most {highest:.1f}% in three evaluations up to round "
                f"{report.completed}, but {best:.1f}% after round {self._best_round}; {self._fix}",
            )

    def _note(self, found: Iterable[Sign]) -> None:
        """Keeps and tells each kind of sign once."""
        for kind, text in found:
            if kind not in self._kinds:
                self._kinds.add(kind)
                self.signs.append(text)
                if self._tell:
                    warnings.warn(text, DivergenceWarning, stacklevel=2)


def _long_first_step(experiment: Experiment) -> Iterator[Sign]:
    """A sign before the start: at x = x̂ FedCos's gradient is -μ d/√ε, so a first step goes η μ/√ε of the move d."""
    rate = learning_rate_of(experiment.optimizer)
    if rate is None:
        return
    largest = float(jnp.max(jnp.asarray(rate)))
    for strength, epsilon in _cosines(experiment):
        fraction = largest * strength / math.sqrt(epsilon) if epsilon > 0 else 0
        if fraction > 1:
            yield (
                "first step",
                f"with learning rate {largest:g}, FedCos strength {strength:g} and epsilon {epsilon:g} the first step "
                f"of each client goes {fraction:.3g} times the last global move, and runs diverge from 1 on; the usual "
                f"fix is a smaller learning rate or strength, or a larger epsilon",
            )


def _loss_of_guessing(experiment: Experiment) -> tuple[float, str] | None:
    """The cross-entropy of guessing a class, and its words. None for other losses."""
    rows = experiment.data.class_rows
    if rows is None or experiment.model.loss is not cross_entropy:
        return None
    return math.log(max(2, rows.shape[0])), "for a guess"


def _usual_fix(experiment: Experiment) -> str:
    if any(strength > 0 and epsilon == 0 for strength, epsilon in _cosines(experiment)):
        return "the usual fix is epsilon=1e-4 in FedCos, because its gradient has no bound with epsilon 0"
    return "the usual fix is a smaller learning rate, or a smaller strength of the method"


def _cosines(experiment: Experiment) -> list[tuple[float, float]]:
    """The largest strength, and the epsilon, of each cosine of the method."""
    numbers = cosine_numbers(experiment.method.penalty)
    return [(float(jnp.max(jnp.asarray(strength))), float(jnp.asarray(epsilon))) for strength, epsilon in numbers]
