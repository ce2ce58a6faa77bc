"""`fedcos evaluate`: a trained model on a test set, by class and by client."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedcos_jax.cli.flags import flag
from fedcos_jax.engine.evaluation import Evaluation, metric_names, per_client, score, written
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.scores import confusion, evaluate
from fedcos_jax.errors import require
from fedcos_jax.models import Metric
from fedcos_jax.models.start import fitted
from fedcos_jax.runs import files, parameters, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.opened import open_checkpoint
from fedcos_jax.runs.parameters import Saved
from fedcos_jax.runs.prepare import prepare
from fedcos_jax.runs.result import numbers
from fedcos_jax.types import Params

SCENE = ("dataset", "model", "partition", "clients", "seed", "replay")
"""The settings that an evaluation depends on. The file has those of its run."""

WIDEST = 20
"""The most classes that a printed table of confusion has."""
MISTAKES = 15
"""How many mistakes are shown of a larger table."""


def add_evaluate(commands) -> None:
    """Adds `evaluate` to the subcommands."""
    command = commands.add_parser(
        "evaluate",
        help="a trained model on a test set: accuracy, by client and by class",
        description="Evaluates the parameters in a file of `fedcos run --save` or in a folder of checkpoints. They "
        "know their dataset, model and partition. Files of other programs need --dataset and --model.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos evaluate model.safetensors                   accuracy and loss on the test set of its run
  fedcos evaluate model.safetensors --per-client --confusion
                                                      also by client and by class
  fedcos evaluate kept --out scores.json              the model in a folder of checkpoints""",
    )
    command.set_defaults(command=run)
    command.add_argument(
        "parameters", type=Path, metavar="FILE", help="a .safetensors file, or a folder of checkpoints"
    )
    command.add_argument(
        "--per-client", action="store_true", help="metrics of each client, on its own test rows or mix of labels"
    )
    command.add_argument(
        "--confusion", action="store_true", help="how many rows of each class are taken for each class"
    )
    command.add_argument("--out", type=Path, metavar="FILE", help="write all of it as JSON")
    fields = settings.declared(Config)
    for name in (*SCENE, "devices"):
        text = fields[name].metadata["help"]
        shown = "" if name == "devices" else " (default: that of its run)"
        command.add_argument(flag(name), metavar=name.upper(), help=text + shown)
    command.add_argument("--data-dir", metavar="DIR", help="folder of the datasets (default: variable FEDCOS_DATA_DIR)")
    command.add_argument("--source", default="auto", help="of the dataset, as in `fedcos run` (default: auto)")


def run(options: argparse.Namespace) -> None:
    """Evaluates, prints and writes the scores."""
    if options.out is not None:
        files.require_writable(options.out)
    saved = read(options.parameters)
    given = {name: value for name in (*SCENE, "devices") if (value := getattr(options, name)) is not None}
    config, experiment = prepare(config_of(saved, given, options.parameters), options.data_dir, source=options.source)
    params = fitted(saved.params, experiment.model, str(options.parameters))
    scores = measure(params, experiment, by_client=options.per_client, by_class=options.confusion)
    for line in lines(options.parameters, config, scores, experiment.model.metrics):
        print(line)
    if options.out is not None:
        scene = {name: getattr(config, name) for name in SCENE}
        files.write(options.out, {"parameters": str(options.parameters)} | scene | scores | {"about": saved.about})


def read(path: Path) -> Saved:
    """The parameters in a file, or those in a folder of checkpoints."""
    if not path.is_dir():
        return parameters.read(path)
    kept = open_checkpoint(path)
    about = {} if kept.config is None else {"config": kept.config.results, "rounds": kept.config.rounds}
    return Saved(kept.state.params, about)


def config_of(saved: Saved, given: dict[str, str], path: Path) -> Config:
    """The scene of the evaluation: that of the run that made the parameters, with what is given instead."""
    stored = saved.about.get("config", {})
    texts = {name: str(stored[name]) for name in SCENE if isinstance(stored, dict) and stored.get(name) is not None}
    texts |= given
    missing = [flag(name) for name in ("dataset", "model") if name not in texts]
    require(not missing, f"{path} does not say what its parameters are: give {' and '.join(missing)}")
    return dataclasses.replace(Config(method="FedAvg"), **settings.from_text(Config, texts))


def measure(params: Params, experiment: Experiment, *, by_client: bool, by_class: bool) -> dict[str, Any]:
    """The metrics (shares in percent), the loss and the tables that are wanted, ready for JSON."""
    found = evaluate(params, experiment)
    columns = found.columns()
    names = metric_names(found)
    scores: dict[str, Any] = {name: numbers(np.asarray(columns[name])[None])[0] for name in names}
    scores["loss"] = numbers(np.asarray(found.loss)[None])[0]
    scores["test_rows"] = len(experiment.data.test.y)
    if by_client:
        scores["per_client"] = _by_client(params, experiment, found)
    if by_class:
        scores["confusion"] = confusion(params, experiment).tolist()
    return scores


def _by_client(params: Params, experiment: Experiment, found: Evaluation) -> dict[str, Any]:
    """Each metric of each client, and how the first one is spread over the clients."""
    name = score(found).name
    percent = {metric: 100 if metric in found.shares else 1 for metric in (*metric_names(found), "loss")}
    values = per_client(params, experiment)
    first = "loss" if name == "test_loss" else name
    known = percent[first] * values[first]
    worst = np.nanpercentile(known, 10 if first in found.shares else 90)
    spread = numbers(np.array([np.nanmean(known), np.nanstd(known), worst]))
    summary = dict(zip(("mean", "standard_deviation", "worst_decile"), spread, strict=True))
    return summary | {metric: numbers(percent[metric] * column) for metric, column in values.items()}


def lines(path: Path, config: Config, scores: dict[str, Any], metrics: Sequence[Metric]) -> list[str]:
    """The scores for a reader."""
    shown = [f"{metric.name.replace('_', ' ')} {_shown(scores[metric.name], metric.share)}" for metric in metrics]
    shown.append(f"loss {_shown(scores['loss'], False)}")
    text = [f"{path} on {config.dataset} ({scores['test_rows']:,} test rows): {', '.join(shown)}"]
    if "per_client" in scores:
        by_client, share = scores["per_client"], bool(metrics) and metrics[0].share
        mean, deviation, worst = (
            _shown(by_client[name], share) for name in ("mean", "standard_deviation", "worst_decile")
        )
        text.append(
            f"{len(by_client['loss']):,} clients ({config.partition}): mean {mean}, standard deviation {deviation}, "
            f"worst decile {worst}"
        )
    if "confusion" in scores:
        text += ["", *table_lines(np.array(scores["confusion"]))]
    return text


def _shown(value: float | None, share: bool) -> str:
    return "unknown" if value is None else written(value, share=share)


def table_lines(table: np.ndarray) -> list[str]:
    """The table of confusion, aligned: labels down, predictions across, and the accuracy of each class.

    A table that is too wide for a screen is shown by its largest mistakes.
    """
    if len(table) > WIDEST:
        return _largest_mistakes(table)
    accuracy = [f"{100 * row[i] / row.sum():.1f}%" if row.sum() else "-" for i, row in enumerate(table)]
    width = max(len(str(table.max())), len(str(len(table) - 1))) + 1
    first = len("label")
    head = f"{'label':>{first}} |" + "".join(f"{name:>{width}}" for name in range(len(table))) + "  accuracy"
    rows = [
        f"{name:>{first}} |" + "".join(f"{count or '.':>{width}}" for count in row) + f"  {share:>8}"
        for name, (row, share) in enumerate(zip(table.tolist(), accuracy, strict=True))
    ]
    return [head, "-" * len(head), *rows]


def _largest_mistakes(table: np.ndarray) -> list[str]:
    mistakes = table * (1 - np.eye(len(table), dtype=table.dtype))
    largest = np.argsort(-mistakes, axis=None, kind="stable")[:MISTAKES]
    rows = [
        f"{table[label, found]:>6} of {table[label].sum():>5} rows of class {label} are taken for class {found}"
        for label, found in zip(*np.unravel_index(largest, table.shape), strict=True)
        if mistakes[label, found]
    ]
    return [f"the most frequent mistakes among {len(table)} classes (--out writes the whole table):", *rows]
