"""`fedcos run`: one federated model, described by flags or a file."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedcos_jax.cli.colour import bold
from fedcos_jax.cli.flags import GROUP, InputOutput, add_settings, refuse_idle_options, resolve
from fedcos_jax.cli.imports import KEY, named
from fedcos_jax.engine.callbacks import Callback, patience, stop_at
from fedcos_jax.engine.evaluation import column_names, statistics_names, written
from fedcos_jax.engine.progress import progress_bar, waiting
from fedcos_jax.errors import is_installed, require
from fedcos_jax.models import Metric
from fedcos_jax.models.losses import ACCURACY
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.estimate import estimate
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.log import is_log_of, log_to, open_log
from fedcos_jax.runs.logs.mlflow import mlflow_run
from fedcos_jax.runs.logs.wandb import wandb_run
from fedcos_jax.runs.parameters import Latest, require_name, save_params
from fedcos_jax.runs.prepare import Prepared, prepare
from fedcos_jax.runs.result import about_model

if TYPE_CHECKING:
    from fedcos_jax.runs.checkpoint import Checkpoints

EXAMPLES = """examples:
  fedcos run                                          FedCos on the embedded digits
  fedcos run --method FedAvg --partition iid          plain averaging on IID clients
  fedcos run --method fedopt --server-lr 1.5 --cos-strength 0.02
                                                      the same as --method "FedOpt(1.5)+FedCos(0.02)"
  fedcos run --method "FedAdam(0.01,b2=0.999)"        a method with a named number
  fedcos run --dataset fashion_mnist --data-dir DATA --clients 100 --partition shards2 --fraction 0.1
  fedcos run --dry-run --model cnn --dataset cifar10  what it would run, need and take
  fedcos run --out result.json --log-dir log          write result.json and result.toml, and log/ during the run
  fedcos run --config result.toml --seed 1            the same run with another seed
  fedcos run --save model.safetensors                 write the trained parameters; `fedcos evaluate` reads them
  fedcos run --from model.safetensors --lr 0.01       start from them
  fedcos run --checkpoint-dir kept --rounds 500       if it is killed, the same command goes on where it was
  fedcos run --rounds 500 --target-accuracy 95        end at 95% test accuracy
  fedcos run --rounds 500 --patience 20               end after 20 evaluations without a better accuracy
  fedcos run --import my_methods.py --method "Mine(0.1)"
                                                      a method that a file of your own registers"""


def add_run(commands) -> None:
    """Adds `run` to the subcommands."""
    command = commands.add_parser(
        "run",
        usage="fedcos run [--FLAG VALUE ...]",
        help="train one federated model and print its accuracy",
        description="Trains one federated model. `fedcos list` shows the names of datasets, models and methods.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    command.set_defaults(command=run)
    add_settings(command)[GROUP].add_argument(
        "--dry-run", action="store_true", help="print the config and what it needs in memory and time, and stop"
    )


def run(options: argparse.Namespace) -> None:
    """Runs what the flags describe, and writes and prints its result."""
    config, places = resolve(options)
    refuse_idle_options(options, config.method)
    require(not places.tensorboard or bool(places.log_dir), "--tensorboard needs --log-dir, where it writes")
    ends = _ends(places)
    result_file, config_file = _outputs(places.out, options.config)
    model_file = _model_file(places.save, config.start_from)
    prepared = prepare(config, places.data_dir, source=places.source)
    config = prepared.config
    beside = {"data_dir": places.data_dir, "source": places.source, KEY: named(options) or None}
    resolved = settings.to_toml(dataclasses.asdict(config) | beside)
    metrics = prepared.experiment.model.metrics
    known = places.target_accuracy is None or ACCURACY in metrics
    require(known, f"--target-accuracy is a test accuracy, which the model {config.model} does not have")
    if options.dry_run:
        print(resolved, flush=True)
        with waiting("estimating", shown=not places.quiet):
            needs = estimate(prepared).lines()
        print(*needs, sep="\n")
        return
    for path in (result_file, config_file, model_file):
        if path is not None:
            # Before the run: a place that cannot be written to must not cost one.
            files.require_writable(path)
    checkpoints = None if places.checkpoint_dir is None else _open_checkpoints(places, config)
    with ExitStack() as stack:
        logs = [stack.enter_context(log) for log in _logs(places, prepared, resolved, checkpoints)]
        bar = stack.enter_context(progress_bar(config.method, config.rounds, shown=not places.quiet))
        latest = Latest()
        if places.log_dir is not None and places.tensorboard is None and not is_installed("tensorboardX"):
            print("fedcos: writing no event files; for those pip install tensorboardX", file=sys.stderr)
        if config_file is not None:
            files.write_text(config_file, resolved)
        result = execute(prepared, [*logs, bar, latest, *ends], checkpoints)
    if result_file is not None:
        files.write(result_file, result)
    if model_file is not None:
        save_params(model_file, latest.params, about_model(config, result))
    print(closing_line(result, metrics))


def _logs(
    places: InputOutput, prepared: Prepared, resolved: str, checkpoints: "Checkpoints | None"
) -> list[AbstractContextManager[Callback]]:
    """The logs that the flags ask for. Nothing is opened yet."""
    logs: list[AbstractContextManager[Callback]] = []
    config, columns = prepared.config, column_names(prepared.experiment)
    folder = None if places.log_dir is None else Path(places.log_dir)
    if folder is not None:
        anew = checkpoints is not None and is_log_of(folder, config)
        logs.append(open_log(folder, resolved, places.tensorboard, anew=anew, evaluated=columns))
    name = f"{config.method} {config.dataset} {config.partition} seed {config.seed}"
    identity = None if checkpoints is None else checkpoints.name
    shown = dataclasses.asdict(config)
    if places.wandb is not None:
        target = wandb_run(places.wandb, name, shown, folder=folder, identity=identity, quiet=places.quiet)
        logs.append(log_to(target, evaluated=columns))
    if places.mlflow is not None:
        logs.append(log_to(mlflow_run(places.mlflow, name, shown, identity=identity), evaluated=columns))
    return logs


def _ends(places: InputOutput) -> list[Callback]:
    """The callbacks that end the run where the flags say so."""
    ends: list[Callback] = []
    if (percent := places.target_accuracy) is not None:
        within = 0 < percent <= 100
        require(within, f"--target-accuracy is a test accuracy in percent, in (0, 100], got {percent:g}")
        ends.append(stop_at(accuracy=percent / 100))
    if places.patience is not None:
        ends.append(patience(places.patience))
    return ends


def closing_line(result: dict[str, Any], metrics: Sequence[Metric] = (ACCURACY,)) -> str:
    """What a run came to, in one line: the first of the model's metrics, or its loss."""
    name, share = (metrics[0].name, metrics[0].share) if metrics else ("test_loss", False)
    last, best = (written(result[f"{kind}_{name}"], share=share) for kind in ("last", "best"))
    line = (
        f"{result['method']} on {result['dataset']} ({result['partition']}, {result['config']['clients']} clients): "
        f"{name.replace('_', ' ')} {bold(last, sys.stdout)} after {result['rounds']} rounds, best {best}"
    )
    if not (metrics and result["config"]["per_client"]):
        return line
    mean, deviation, worst = (result["history"][column][-1] for column in statistics_names(metrics[0]))
    mean, deviation, worst = ("unknown" if x is None else written(x, share=share) for x in (mean, deviation, worst))
    return f"{line}; over clients: mean {mean}, standard deviation {deviation}, worst decile {worst}"


def _outputs(out: str | None, config: Path | None) -> tuple[Path | None, Path | None]:
    """The files of the result and of its config."""
    if out is None:
        return None, None
    result_file = Path(out)
    require(result_file.suffix != ".toml", "--out is the JSON file of the result; the TOML is written beside it")
    config_file = result_file.with_name(f"{result_file.name.removesuffix('.json')}.toml")
    own = config is not None and config.resolve() == config_file.resolve()
    require(not own, f"--out {out} would write over the config {config}: choose another name")
    return result_file, config_file


def _model_file(save: str | None, start_from: str | None) -> Path | None:
    """The file of the last model."""
    if save is None:
        return None
    path = Path(save)
    require_name(path)
    own = start_from is not None and Path(start_from).resolve() == path.resolve()
    require(not own, f"--save {save} would write over the parameters that the run starts from: choose another name")
    return path


def _open_checkpoints(places: InputOutput, config: Config) -> "Checkpoints":
    """The checkpoints of the run in the folder that the flags name. The folder must not hold another run."""
    from fedcos_jax.runs.checkpoint import Checkpoints

    checkpoints = Checkpoints(Path(str(places.checkpoint_dir)), config.identity, places.checkpoint_seconds)
    files.require_folder(checkpoints.folder, f"cannot keep checkpoints in {checkpoints.folder}")
    checkpoints.about(config.rounds)
    return checkpoints
