"""`fedcos run`: one federated model, described by flags or a file."""

import argparse
import dataclasses
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedcos_jax.cli.flags import GROUP, InputOutput, add_settings, refuse_idle_options, resolve
from fedcos_jax.cli.progress import progress_bar
from fedcos_jax.engine.loop import Callback, stop_at
from fedcos_jax.errors import require
from fedcos_jax.runs import files, settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.estimate import estimate
from fedcos_jax.runs.execute import execute
from fedcos_jax.runs.log import CSV_FILE, INSTALL_TENSORBOARD, has_tensorboard, is_log_of, open_log
from fedcos_jax.runs.parameters import Latest, require_name, save_params
from fedcos_jax.runs.prepare import prepare
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
  fedcos run --rounds 500 --stop-at 95                end at 95% test accuracy"""


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
    result_file, config_file = _outputs(places.out, options.config)
    model_file = _model_file(places.save, config.start_from)
    prepared = prepare(config, places.data_dir, source=places.source)
    config = prepared.config
    resolved = settings.to_toml(dataclasses.asdict(config) | {"data_dir": places.data_dir, "source": places.source})
    if options.dry_run:
        print(resolved, *estimate(prepared).lines(), sep="\n")
        return
    for path in (result_file, config_file, model_file):
        if path is not None:
            # Before the run: a place that cannot be written to must not cost one.
            files.require_writable(path)
    checkpoints = None if places.checkpoint_dir is None else _open_checkpoints(places, config)
    with ExitStack() as stack:
        callbacks: list[Callback] = []
        if places.log_dir is not None:
            folder = Path(places.log_dir)
            anew = checkpoints is not None and is_log_of(folder, config)
            callbacks.append(stack.enter_context(open_log(folder, resolved, places.tensorboard, anew=anew)))
            if places.tensorboard is None and not has_tensorboard():
                print(f"fedcos: writing {CSV_FILE} only; for event files {INSTALL_TENSORBOARD}", file=sys.stderr)
        callbacks.append(stack.enter_context(progress_bar(config.method, config.rounds, shown=not places.quiet)))
        if places.stop_at is not None:
            callbacks.append(stop_at(_share(places.stop_at)))
        latest = Latest()
        callbacks.append(latest)
        if config_file is not None:
            files.write_text(config_file, resolved)
        result = execute(prepared, callbacks, checkpoints)
    if result_file is not None:
        files.write(result_file, result)
    if model_file is not None:
        save_params(model_file, latest.params, about_model(config, result))
    print(closing_line(result))


def closing_line(result: dict[str, Any]) -> str:
    """What a run came to, in one line."""
    return (
        f"{result['method']} on {result['dataset']} ({result['partition']}, {result['config']['clients']} clients): "
        f"accuracy {result['last_accuracy']:.2f}% after {result['rounds']} rounds, best {result['best_accuracy']:.2f}%"
    )


def _share(percent: float) -> float:
    require(0 < percent <= 100, f"--stop-at is a test accuracy in percent, in (0, 100], got {percent:g}")
    return percent / 100


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
