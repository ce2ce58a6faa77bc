"""CSV and JSON Lines: every row at once, readable by what users read them with."""

import csv
import json
import math

import pytest

from fedcos_jax.errors import InputError
from fedcos_jax.runs.logs.tables import csv_file, json_lines

ROWS = [{"round": 1, "accuracy": None, "loss": 0.5}, {"round": 2, "accuracy": 25.0, "loss": None}]


def test_json_lines_are_there_after_every_call(tmp_path):
    path = tmp_path / "history.jsonl"
    with json_lines(path) as write:
        for count in (1, 2):
            write([ROWS[count - 1]])
            assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS[:count]
        with pytest.raises(ValueError, match="not JSON compliant"):
            write([{"round": 3, "loss": math.nan}])


def test_csv_has_a_header_and_empty_cells(tmp_path):
    path = tmp_path / "history.csv"
    with csv_file(path, list(ROWS[0])) as write:
        write(ROWS)
        assert list(csv.reader(path.read_text().splitlines())) == [
            ["round", "accuracy", "loss"],
            ["1", "", "0.5"],
            ["2", "25.0", ""],
        ]


@pytest.mark.parametrize("target", [json_lines, lambda path: csv_file(path, ["round"])])
def test_a_file_that_cannot_be_written(tmp_path, target):
    with pytest.raises(InputError, match="cannot write"), target(tmp_path / "missing" / "history"):
        pass
