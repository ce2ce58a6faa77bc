"""A run watches itself: which signs it sees, which it does not, and what it does about them."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import DivergenceWarning, client_sgd, fedavg, fedcos, fedprox, run, with_fedcos
from fedcos_jax.engine.callbacks import Report
from fedcos_jax.engine.evaluation import Evaluation
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.engine.watch import Watch
from fedcos_jax.labels import parse
from tests.problems import gaussian_data, small_experiment

KEY = jax.random.key(0)
MANY_ROWS = (300, 300, 300, 300)


def told(experiment, losses, accuracies=(), **options):
    """What a watch makes of a run with one evaluation per round."""
    watch = Watch(experiment, tell=False, **options)
    answers = []
    for place, loss in enumerate(losses):
        rounds = RoundInfo(*[np.array([loss], np.float32)] * len(RoundInfo._fields))
        accuracy = accuracies[place] if place < len(accuracies) else None
        evaluation = None if accuracy is None else Evaluation(np.float32(loss), {"accuracy": np.float32(accuracy)}, {})
        answers.append(watch(Report(place + 1, rounds, evaluation, None)))
    return watch, answers


@pytest.fixture(scope="module")
def experiment():
    return small_experiment(fedavg(), data=gaussian_data(MANY_ROWS))


@pytest.mark.parametrize(
    ("losses", "accuracies", "sign"),
    [
        ([2.0, 1.0, 25.0], (), "the training loss is 25 in round 3, but it is 2 in the first round"),
        ([2.0, np.nan, np.nan], (), "the training loss is not a finite number in round 2"),
        ([np.inf], (), "the training loss is not a finite number in round 1"),
        (
            [1.0] * 5,
            [0.9, 0.9, 0.5, 0.7, 0.6],
            "the accuracy was at most 70.0% in three evaluations up to round 5, but 90.0%",
        ),
    ],
)
def test_signs(experiment, losses, accuracies, sign):
    watch, _ = told(experiment, losses, accuracies)
    assert watch.diverged
    assert watch.signs[0].startswith(sign)
    assert "the usual fix is a smaller learning rate" in watch.signs[0]
    assert len(watch.signs) == len({text.split(" in round")[0] for text in watch.signs})


@pytest.mark.parametrize(
    ("losses", "accuracies"),
    [
        ([2.0, 1.0, 0.001, 1.9, 15.0], ()),
        ([1.0] * 6, [0.9, 0.9, 0.9, 0.5, 0.9, 0.9]),
        ([1.0] * 4, [0.9, 0.8, 0.85, 0.82]),
        ([-1.0, -9.0, 5.0], ()),
    ],
    ids=["a loss below that of the start", "one bad evaluation", "small swings", "a penalty below zero"],
)
def test_what_is_no_sign(experiment, losses, accuracies):
    watch, answers = told(experiment, losses, accuracies, stop=True)
    assert not watch.signs
    assert not any(answers)


def test_accuracy_swings_with_cohorts_and_with_few_test_rows(experiment):
    accuracies = [0.9, 0.9, 0.9, 0.7, 0.7, 0.7]
    assert told(experiment, [1.0] * 6, accuracies)[0].diverged
    some = small_experiment(fedavg(), data=gaussian_data(MANY_ROWS), cohort=2)
    assert not told(some, [1.0] * 6, accuracies)[0].diverged
    assert not told(small_experiment(fedavg()), [1.0] * 6, accuracies)[0].diverged


def test_the_run_ends_at_the_first_sign_if_it_is_told_to(experiment):
    assert told(experiment, [1.0, 1.0, 99.0, 1.0], stop=True)[1] == [False, False, True, True]
    assert told(experiment, [1.0, 1.0, 99.0, 1.0])[1] == [False] * 4


@pytest.mark.parametrize(
    ("rate", "method", "fraction"),
    [
        (0.5, fedcos(0.2), 10),
        (0.5, with_fedcos(fedprox(0.1), 0.04, epsilon=1e-6), 20),
        (0.5, parse("FedOpt(1.5)+FedCos(0.2)").in_paper_form(), 10),
        (np.array([0.1, 0.2, 0.3, 0.4]), fedcos(np.array([0.1, 0.3, 0.0, 0.0])), 12),
    ],
)
def test_a_first_step_longer_than_the_last_global_move(rate, method, fraction):
    watch = Watch(small_experiment(method, optimizer=client_sgd(rate)), tell=False)
    assert len(watch.signs) == 1
    assert f"goes {fraction} times the last global move" in watch.signs[0]
    assert not watch.diverged


@pytest.mark.parametrize("method", [fedcos(0.02), fedcos(5.0, epsilon=0), fedavg(), parse("FedAvg").in_paper_form()])
def test_no_word_about_a_short_first_step(method):
    assert not Watch(small_experiment(method, optimizer=client_sgd(0.05)), tell=False).signs


def test_the_fix_for_epsilon_0():
    experiment = small_experiment(fedcos(0.02, epsilon=0), data=gaussian_data(MANY_ROWS))
    assert "the usual fix is epsilon=1e-4" in told(experiment, [1.0, np.nan])[0].signs[0]


def test_classes_are_compared_with_a_guess(experiment):
    data = experiment.data._replace(class_rows=jnp.array([400, 400, 400]))
    watch, _ = told(experiment.replace(data=data), [25.0, 20.0])
    assert watch.signs[0].startswith("the training loss is 25 in round 1, but it is 1.1 for a guess")


def test_a_run_warns_once_and_can_be_told_not_to():
    data = gaussian_data()._replace(class_rows=jnp.array([9, 9, 8]))
    experiment = small_experiment(fedavg(), data=data, optimizer=client_sgd(1e3), rounds=4)
    with pytest.warns(DivergenceWarning, match="the training loss is") as caught:
        run(KEY, experiment)
    assert len({str(one.message).split(" in round")[0] for one in caught}) == len(caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(KEY, experiment, watch=False)
        run(KEY, small_experiment(fedavg(), optimizer=client_sgd(0.01), rounds=4))
