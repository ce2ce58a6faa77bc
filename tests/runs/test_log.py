"""The log of a run: whole rows, and evaluations where they belong."""

import csv

import numpy as np
import pytest

from fedcos_jax.engine.callbacks import Report
from fedcos_jax.engine.evaluation import Evaluation
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.errors import InputError
from fedcos_jax.runs import log, settings
from fedcos_jax.runs.config import Config


def report(completed, count, accuracy=None):
    evaluation = None if accuracy is None else Evaluation(np.float32(0.5), {"accuracy": np.float32(accuracy)}, {})
    columns = np.arange(completed - count + 1, completed + 1, dtype=np.float32)
    return Report(completed, RoundInfo(*[columns] * len(RoundInfo._fields)), evaluation, None)


def test_a_row_per_round():
    assert [(row["round"], row["accuracy"]) for row in log.rows_of(report(5, 2, 0.25))] == [(4, None), (5, 25.0)]
    assert [row["accuracy"] for row in log.rows_of(report(3, 1))] == [None]
    assert log.rows_of(report(3, 0, 0.5)) == []


def test_ticks_between_evaluations_are_written_at_once(tmp_path):
    with log.open_log(tmp_path / "log", "", tensorboard=False) as write:
        for one, lines in ((report(2, 2), 2), (report(3, 1, 0.5), 3)):
            write(one)
            with (tmp_path / "log" / log.CSV_FILE).open() as stream:
                assert len(list(csv.DictReader(stream))) == lines


def test_whose_log_it_is(tmp_path):
    config = Config(lr=0.1)
    text = settings.to_toml({"lr": 0.1, "data_dir": "somewhere"})
    with log.open_log(tmp_path, text, tensorboard=False):
        pass
    assert log.is_log_of(tmp_path, config)
    assert log.is_log_of(tmp_path, Config(lr=0.1, rounds=99, devices=1))
    assert not log.is_log_of(tmp_path, Config(lr=0.2))
    assert not log.is_log_of(tmp_path / "other", config)
    with pytest.raises(InputError, match="holds the log of a run already"), log.open_log(tmp_path, text):
        pass
