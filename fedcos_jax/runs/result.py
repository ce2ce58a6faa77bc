"""What is left of a run, as plain values ready for JSON."""

import dataclasses
import math
import platform
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from fedcos_jax.engine.evaluation import Evaluation, metric_names
from fedcos_jax.engine.loop import History
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.runs.config import Config

OF_ROUNDS = RoundInfo._fields
"""The columns of a history with one value per round. The others have one per evaluation."""
SUMMARY = {
    "last_accuracy": "last round",
    "best_accuracy": "best round",
    "last10_accuracy": "mean of the last ten rounds",
}
"""The accuracies that sum up the run of a classifier, and their names for readers."""


def as_result(config: Config, history: History, seconds: float) -> dict[str, Any]:
    """The result of a run: its summary, its history and what it was run with."""
    return {
        **{name: getattr(config, name) for name in ("dataset", "model", "partition", "method", "seed")},
        "rounds": int(history.evaluated[-1]),
        **summary(history),
        "seconds": round(seconds, 2),
        "history": history_lists(history),
        "config": dataclasses.asdict(config),
        "versions": versions(),
    }


def about_model(config: Config, result: dict[str, Any]) -> dict[str, Any]:
    """What is stored beside the parameters of a run's last model, so that equal runs store the same.

    It is the result without history and time. Its config has only the settings that results depend on.
    """
    kept = {name: value for name, value in result.items() if name not in ("history", "seconds")}
    return kept | {"config": config.results}


def summary(history: History) -> dict[str, float]:
    """The last and best value of each metric, and its mean over the evaluations in the last ten rounds.

    For a classifier these are the names in SUMMARY. Shares are in percent. A model without metrics has `test_loss`.
    """
    values = history.evaluation
    last_ten = np.asarray(history.evaluated) > history.evaluated[-1] - 10
    found = {}
    for name, column in summarised(values).items():
        column = np.asarray(column, np.float64)
        share = name in values.shares
        best = column.max() if share else column.min()
        for kind, value in (("last", column[-1]), ("best", best), ("last10", column[last_ten].mean())):
            found[f"{kind}_{name}"] = round(float(value), 4) if share else float(f"{value:.6g}")
    return found


def summarised(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """The columns that sum up a run: the metrics of the model, shares in percent, or else `test_loss`.

    `accuracy` comes first. What is said of clients is left out.
    """
    columns = {name: np.asarray(value, np.float64) for name, value in evaluation.columns().items()}
    return {name: columns[name] for name in metric_names(evaluation) or ["test_loss"]}


def history_lists(history: History) -> dict[str, list]:
    """The history as lists: `round`, metrics (shares in percent) and `test_loss` per evaluation, the rest per round."""
    columns = history.evaluation.columns() | history.rounds._asdict()
    return {"round": history.evaluated.tolist()} | {
        name: numbers(np.asarray(column)) for name, column in columns.items()
    }


def numbers(column: np.ndarray) -> list[float | None]:
    """Six significant digits. None for what is not a number, because JSON has no word for it."""
    return [float(f"{x:.6g}") if math.isfinite(x) else None for x in column.tolist()]


def versions() -> dict[str, str]:
    """What the run was made with."""
    packages = ("fedcos-jax", "jax", "jaxlib", "flax", "optax", "numpy")
    device = jax.devices()[0]
    return {
        **{name: version(name) for name in packages},
        "python": platform.python_version(),
        "device": f"{device.platform} ({device.device_kind})",
    }
