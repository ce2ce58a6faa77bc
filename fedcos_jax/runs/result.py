"""What is left of a run, as plain values ready for JSON."""

import dataclasses
import math
import platform
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from fedcos_jax.engine.loop import History
from fedcos_jax.runs.config import Config

EVALUATED = ("accuracy", "test_loss")
"""The columns of a history with one value per evaluation. The others have one per round."""
SUMMARY = {
    "last_accuracy": "last round",
    "best_accuracy": "best round",
    "last10_accuracy": "mean of the last ten rounds",
}
"""The accuracies that sum up a run, and their names for readers."""


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
    """Accuracy in percent, by the names in SUMMARY. The mean is over the evaluations in the last ten rounds."""
    accuracy = 100 * np.asarray(history.evaluation.accuracy, np.float64)
    last_ten = np.asarray(history.evaluated) > history.evaluated[-1] - 10
    return {
        "last_accuracy": round(float(accuracy[-1]), 4),
        "best_accuracy": round(float(accuracy.max()), 4),
        "last10_accuracy": round(float(accuracy[last_ten].mean()), 4),
    }


def history_lists(history: History) -> dict[str, list]:
    """The history as lists: `round`, `accuracy` (percent) and `test_loss` per evaluation, the rest per round."""
    columns = {
        "accuracy": 100 * history.evaluation.accuracy,
        "test_loss": history.evaluation.loss,
        **history.rounds._asdict(),
    }
    return {"round": history.evaluated.tolist()} | {name: numbers(column) for name, column in columns.items()}


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
