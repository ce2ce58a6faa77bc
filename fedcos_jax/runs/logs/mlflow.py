"""The log as a run of MLflow, which needs the package mlflow or mlflow-skinny."""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from fedcos_jax.errors import InputError, require_package
from fedcos_jax.runs.logs.tables import Rows, Writer

EXPERIMENT = "fedcos"
"""The experiment of the runs, unless the variable MLFLOW_EXPERIMENT_NAME names another one."""
_IDENTITY = "fedcos.identity"
_AT_ONCE = 1000
"""The most values that MLflow takes in one call."""


def mlflow_run(
    place: str, name: str, config: dict[str, Any], *, identity: str | None = None
) -> AbstractContextManager[Writer]:
    """A run of an experiment. Its step is the round.

    Args:
        place: the address of a tracking server or database, or a folder.
        name: of the run.
        config: the parameters of the run.
        identity: a tag, by which a run goes on when this process is killed and started again.
    """
    require_package("mlflow", "--mlflow", install="mlflow-skinny")
    return _opened(place, name, config, identity)


@contextmanager
def _opened(place: str, name: str, config: dict[str, Any], identity: str | None) -> Iterator[Writer]:
    import mlflow
    from mlflow.entities import Metric, Param

    try:
        client = mlflow.MlflowClient(tracking_uri=_address(place))
        run = _run(client, name, identity)
        parameters = [Param(key, str(value)) for key, value in config.items()]
        written = run.data.metrics.get("round", 0)
        if not written:
            client.log_batch(run.info.run_id, params=parameters)

        def write(rows: Rows) -> None:
            now = int(1000 * time.time())
            # A run that goes on is told its first rounds again, which MLflow has.
            values = [
                Metric(key, value, now, row["round"])
                for row in rows
                if row["round"] > written
                for key, value in row.items()
                if value is not None
            ]
            for start in range(0, len(values), _AT_ONCE):
                client.log_batch(run.info.run_id, metrics=values[start : start + _AT_ONCE])

        with _ending(client, run.info.run_id):
            yield write
    except mlflow.exceptions.MlflowException as error:
        raise InputError(f"cannot log to MLflow at {place}: {' '.join(str(error).split())}") from None


def _address(place: str) -> str:
    if "://" in place or place == "databricks":
        return place
    # MLflow asks for this variable where runs are kept in a folder of files.
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return Path(place).absolute().as_uri()


def _run(client, name: str, identity: str | None):
    """The run with this identity, or a new one."""
    title = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    known = client.get_experiment_by_name(title)
    experiment = client.create_experiment(title) if known is None else known.experiment_id
    if identity is None:
        return client.create_run(experiment, run_name=name)
    for run in client.search_runs([experiment], f"tags.`{_IDENTITY}` = '{identity}'"):
        client.update_run(run.info.run_id, status="RUNNING")
        return run
    return client.create_run(experiment, run_name=name, tags={_IDENTITY: identity})


@contextmanager
def _ending(client, run_id: str) -> Iterator[None]:
    """Tells MLflow how the run ended."""
    status = "FAILED"
    try:
        yield
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        client.set_terminated(run_id, status)
