"""What is left of a run, ready for JSON."""

import json

import numpy as np
import pytest

from fedcos_jax.engine.evaluation import Evaluation, score
from fedcos_jax.engine.loop import History
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import SUMMARY, about_model, as_result, history_lists, numbers, summary


def history(evaluated):
    accuracy = np.array(evaluated) / 100
    evaluation = Evaluation(accuracy, {"accuracy": accuracy}, {})
    return History(np.array(evaluated), evaluation, RoundInfo(*[accuracy] * len(RoundInfo._fields)))


@pytest.mark.parametrize(("evaluated", "mean"), [(range(1, 31), 25.5), (range(5, 31, 5), 27.5), ([20, 30], 30)])
def test_the_last_ten_rounds_are_rounds(evaluated, mean):
    assert summary(history(evaluated)) == {"last_accuracy": 30, "best_accuracy": 30, "last10_accuracy": mean}


def test_a_result_is_json():
    result = as_result(Config(rounds=9), history([2, 4]), 1.234)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["rounds"] == 4
    assert result["config"]["rounds"] == 9
    assert set(SUMMARY) <= set(result)


def test_equal_runs_say_the_same_about_their_models():
    slow, quick = (as_result(Config(devices=count), history([2]), seconds) for count, seconds in ((1, 9.0), (2, 1.0)))
    about = about_model(Config(devices=1), slow)
    assert about == about_model(Config(devices=2), quick)
    assert about["rounds"] == 2
    assert about["config"] == Config().results


def test_numbers_that_json_does_not_know_are_none():
    assert numbers(np.array([1 / 3, np.nan, np.inf])) == [0.333333, None, None]


def test_columns_of_a_history():
    columns = history_lists(history([1, 2]))
    assert set(columns) == {"round", "accuracy", "test_loss", *RoundInfo._fields}
    assert columns["accuracy"] == [1.0, 2.0]


def test_a_model_without_accuracy_is_summed_up_by_its_own_metrics():
    """Shares are in percent and the highest is best. Of errors the lowest is best, and clients do not count."""
    column = np.array([0.5, 0.2, 0.4])
    whole = history([1, 2, 13])
    shares = {"token_accuracy": column, "client_token_accuracy_mean": column}
    found = summary(whole._replace(evaluation=Evaluation(column, shares, {"rmse": column})))
    assert found["best_token_accuracy"] == 50
    assert (found["last_rmse"], found["best_rmse"], found["last10_rmse"]) == (0.4, 0.2, 0.4)
    assert not [name for name in found if "client" in name]
    assert str(score(Evaluation(column[0], {}, {"rmse": column[1]}))) == "rmse 0.2"
    assert str(score(Evaluation(column[0], {"accuracy": column[1], "a": column[0]}, {}))) == "accuracy 20.00%"


def test_a_model_without_metrics_is_summed_up_by_its_loss():
    found = summary(history([1, 2])._replace(evaluation=Evaluation(np.array([3.0, 2.0]), {}, {})))
    assert found == {"last_test_loss": 2.0, "best_test_loss": 2.0, "last10_test_loss": 2.5}
