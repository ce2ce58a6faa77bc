"""What is left of a run, ready for JSON."""

import json

import numpy as np
import pytest

from fedcos_jax.engine.evaluation import Evaluation
from fedcos_jax.engine.loop import History
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.result import SUMMARY, about_model, as_result, history_lists, numbers, summary


def history(evaluated):
    accuracy = np.array(evaluated) / 100
    return History(np.array(evaluated), Evaluation(accuracy, accuracy), RoundInfo(*[accuracy] * len(RoundInfo._fields)))


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
