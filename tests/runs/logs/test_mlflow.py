"""A run of MLflow in a folder of files: its parameters, its values by round, how it ended, and how it goes on."""

import pytest

mlflow = pytest.importorskip("mlflow", reason="needs mlflow-skinny")
pytestmark = pytest.mark.filterwarnings("ignore:The filesystem tracking backend:FutureWarning")

from fedcos_jax.cli import main as fedcos  # noqa: E402
from fedcos_jax.errors import InputError  # noqa: E402
from fedcos_jax.runs import files  # noqa: E402
from fedcos_jax.runs.logs.mlflow import EXPERIMENT, mlflow_run  # noqa: E402

ROWS = [{"round": 1, "accuracy": None, "loss": 0.5}, {"round": 2, "accuracy": 25.0, "loss": 0.25}]


def runs(folder):
    client = mlflow.MlflowClient(tracking_uri=folder.as_uri())
    experiment = client.get_experiment_by_name(EXPERIMENT)
    return client, client.search_runs([experiment.experiment_id])


def history(client, run, name):
    return [(value.step, value.value) for value in client.get_metric_history(run.info.run_id, name)]


def test_rounds_are_steps(tmp_path):
    with mlflow_run(str(tmp_path), "a run", {"lr": 0.1, "chunk": None}) as write:
        write(ROWS)
    client, (run,) = runs(tmp_path)
    assert run.data.params == {"lr": "0.1", "chunk": "None"}
    assert (run.info.run_name, run.info.status) == ("a run", "FINISHED")
    assert history(client, run, "loss") == [(1, 0.5), (2, 0.25)]
    assert history(client, run, "accuracy") == [(2, 25.0)]


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt, "KILLED"), (ZeroDivisionError, "FAILED")])
def test_how_a_run_ended(tmp_path, error, status):
    with pytest.raises(error), mlflow_run(str(tmp_path), "a run", {}):
        raise error
    assert runs(tmp_path)[1][0].info.status == status


def test_a_run_goes_on_without_gaps_or_doubles(tmp_path):
    with mlflow_run(str(tmp_path), "a run", {"lr": 0.1}, identity="mine") as write:
        write(ROWS[:1])
    with mlflow_run(str(tmp_path), "a run", {"lr": 0.1}, identity="mine") as write:
        write(ROWS)
    with mlflow_run(str(tmp_path), "a run", {"lr": 0.1}, identity="another") as write:
        write(ROWS[:1])
    client, found = runs(tmp_path)
    assert [history(client, run, "loss") for run in found] == [[(1, 0.5)], [(1, 0.5), (2, 0.25)]]


def test_many_rounds_at_once(tmp_path):
    with mlflow_run(str(tmp_path), "a run", {}) as write:
        write([{"round": number, "loss": 0.5} for number in range(1, 602)])
    client, (run,) = runs(tmp_path)
    assert len(history(client, run, "loss")) == 601


def test_a_server_that_cannot_be_used(tmp_path):
    with pytest.raises(InputError, match="cannot log to MLflow at nonsense://x: "), mlflow_run("nonsense://x", "", {}):
        pass


def test_the_command_logs_its_history(tmp_path):
    out, kept = tmp_path / "result.json", ["--checkpoint-dir", str(tmp_path / "kept")]
    flags = ["run", "--quiet", "--eval-every", "2", "--local-steps", "3", "--mlflow", str(tmp_path / "runs"), *kept]
    for rounds in ("2", "3"):
        assert fedcos.main([*flags, "--rounds", rounds, "--out", str(out)]) == 0
    written = files.read(out)["history"]
    client, (run,) = runs(tmp_path / "runs")
    assert history(client, run, "accuracy") == list(zip([2, 3], written["accuracy"], strict=True))
    assert history(client, run, "train_loss") == list(zip([1, 2, 3], written["train_loss"], strict=True))
    assert run.data.params["method"] == "FedCos(0.02)"
