"""`fedcos run`: one federated model, described by flags or a file."""

import argparse
import dataclasses
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from fedcos_jax import results, settings
from fedcos_jax.data import SOURCES
from fedcos_jax.errors import require
from fedcos_jax.estimate import estimate
from fedcos_jax.experiment import Config, execute, prepare
from fedcos_jax.logs import is_log_of, open_log
from fedcos_jax.methods import METHODS, MethodSpec, Term, parse
from fedcos_jax.progress import progress_bar
from fedcos_jax.settings import flag, setting

if TYPE_CHECKING:
    from fedcos_jax.checkpoint import Checkpoints

_GROUP = "input and output"

EXAMPLES = """examples:
  fedcos run                                          FedCos on the embedded digits
  fedcos run --method FedAvg --partition iid          plain averaging on IID clients
  fedcos run --method fedopt --server-lr 1.5 --cos-strength 0.02
                                                      the same as --method "FedOpt(1.5)+FedCos(0.02)"
  fedcos run --dataset fashion_mnist --data-dir DATA --clients 100 --partition shards2 --fraction 0.1
  fedcos run --dry-run --model cnn --dataset cifar10  what it would be, need and take
  fedcos run --out result.json --log-dir log          writes result.json and result.toml, and log/ as it goes on
  fedcos run --config result.toml --seed 1            the same run again but for the seed
  fedcos run --checkpoint-dir kept --rounds 500       killed, the same command goes on where it was"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Files:
    """Where a run reads and writes: none of it changes the result."""

    data_dir: str | None = setting(None, _GROUP, "folder of the datasets (default: variable FEDCOS_DATA_DIR)")
    source: str = setting("auto", _GROUP, f"of the dataset: {', '.join(SOURCES)}")
    out: str | None = setting(None, _GROUP, "write the result as JSON, and the config that gives it as TOML beside it")
    log_dir: str | None = setting(None, _GROUP, "write the history as the run goes on, as CSV and for TensorBoard")
    tensorboard: bool | None = setting(
        None, _GROUP, "TensorBoard's event files in the log directory (default: if tensorboardX is installed)"
    )
    checkpoint_dir: str | None = setting(
        None, _GROUP, "keep the run here as it goes on; the same command again goes on from there, also to more rounds"
    )
    checkpoint_seconds: float = setting(60.0, _GROUP, "between checkpoints, at least")
    quiet: bool = setting(False, _GROUP, "no progress bar")


NUMBERS = {str(entry.parameter): entry for entry in METHODS.values() if entry.parameter is not None}
"""The numbers of methods, which are flags of their own and end up in the method's label."""
KEYS = (*settings.declared(Config), *NUMBERS, *settings.declared(Files))
"""Of a config file."""


def add_run(commands) -> None:
    """Adds `run` to the subcommands."""
    command = commands.add_parser(
        "run",
        usage="fedcos run [--FLAG VALUE ...]",
        help="train one federated model and print its accuracy",
        description="Trains one federated model; `fedcos list` has the names of datasets, models and methods.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    command.set_defaults(command=run)
    add_settings(command)[_GROUP].add_argument(
        "--dry-run", action="store_true", help="print the config and what it needs in memory and time, and stop"
    )


def add_settings(command: argparse.ArgumentParser) -> dict[str, argparse._ArgumentGroup]:
    """Adds the flags that `resolve` reads, and returns their headings."""
    groups = settings.add_flags(command, Config, Files)
    for name, entry in NUMBERS.items():
        text = f"the number of {entry.label}" + (", alone or on top of the method" if entry.label == "FedCos" else "")
        groups["method"].add_argument(flag(name), metavar="NUMBER", help=text)
    groups[_GROUP].add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file with any of these flags as keys; flags win over it"
    )
    return groups


def resolve(options: argparse.Namespace) -> tuple[Config, Files]:
    """What the flags and the config file say."""
    texts = {} if options.config is None else settings.read_file(options.config, KEYS)
    # The file's numbers are those of the file's method, and its epochs are instead of steps.
    replaced = [*(NUMBERS if options.method is not None else ()), *(["local_epochs"] if options.local_steps else [])]
    texts = {name: text for name, text in texts.items() if name not in replaced}
    refuse_contradictions(options)
    texts |= {name: str(value) for name in KEYS if (value := getattr(options, name)) is not None}

    def part(names) -> dict[str, str]:
        return {name: text for name, text in texts.items() if name in names}

    config = Config(**settings.from_text(Config, part(settings.declared(Config))))
    files = Files(**settings.from_text(Files, part(settings.declared(Files))))
    numbers = {name: settings.read(text, float, name) for name, text in part(NUMBERS).items()}
    return dataclasses.replace(config, method=resolve_method(config.method, numbers).label), files


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Raises InputError for flags of which one would be ignored."""
    epochs = options.local_epochs not in (None, "none")
    require(not (options.local_steps and epochs), "give --local-steps or --local-epochs, not both")
    refuse_twice(options.method or "", [name for name in NUMBERS if getattr(options, name) is not None], flag)
    kept = options.checkpoint_dir is not None or options.config is not None
    require(kept or options.checkpoint_seconds is None, "--checkpoint-seconds needs --checkpoint-dir, where it writes")


def refuse_twice(label: str, given: Iterable[str], form: Callable[[str], str]) -> None:
    """Raises InputError if a method's label has a number that is also given by a name, shown in this form."""
    for name in given:
        entry = NUMBERS[name]
        twice = f"{entry.label.lower()}(" in label.lower()
        require(not twice, f"the number of {entry.label} is given twice: by the method and by {form(name)}")


OPTIONS_OF = {"half_proximal": "FedProx", "damped_momentum": "FedAvgM", "epsilon": "FedCos", "before_server": "FedCos"}
"""The either/or choices that only one method has."""


def refuse_idle_options(options: argparse.Namespace, method: str) -> None:
    """Raises InputError for a flag that the method does nothing with."""
    for name, label in OPTIONS_OF.items():
        used = getattr(options, name) is None or label in method
        require(used, f"{flag(name)} is an option of {label}, but the method is {method}")


def resolve_method(label: str, numbers: dict[str, float]) -> MethodSpec:
    """The method of the label, with the numbers given apart."""
    base, cosine = parse(label)
    for name, entry in METHODS.items():
        if entry.parameter not in numbers:
            continue
        value = numbers[entry.parameter]
        if name == "fedcos" and base.name not in ("fedavg", "fedcos"):
            cosine = Term(name, value)
        else:
            belongs = name in ("fedcos", base.name)
            require(belongs, f"{flag(entry.parameter)} is the number of {entry.label}, but the method is {base.label}")
            base = Term(name, value)
    return MethodSpec(base, cosine)


def run(options: argparse.Namespace) -> None:
    config, files = resolve(options)
    refuse_idle_options(options, config.method)
    out = None if files.out is None else Path(files.out)
    require(out is None or out.suffix != ".toml", "--out is the JSON file of the result; the TOML is written beside it")
    require(not files.tensorboard or bool(files.log_dir), "--tensorboard needs --log-dir, where it writes")
    experiment = prepare(config, files.data_dir, source=files.source)
    config = experiment.config
    resolved = settings.to_toml(dataclasses.asdict(config) | {"data_dir": files.data_dir, "source": files.source})
    if options.dry_run:
        print(resolved, *estimate(experiment).lines(), sep="\n")
        return
    if out is not None:
        # Before the run: a place that cannot be written to must not cost one.
        toml = out.with_name(f"{out.name.removesuffix('.json')}.toml")
        results.require_writable(out)
        results.require_writable(toml)
        own = options.config is not None and options.config.resolve() == toml.resolve()
        require(not own, f"--out {out} would write over the config {options.config}: choose another name")
    checkpoints = None if files.checkpoint_dir is None else open_checkpoints(files, config)
    log_dir = None if files.log_dir is None else Path(files.log_dir)
    anew = checkpoints is not None and log_dir is not None and is_log_of(log_dir, config)
    log = nullcontext() if log_dir is None else open_log(log_dir, resolved, files.tensorboard, anew=anew)
    with log as watch, progress_bar(config.method, config.rounds, shown=not files.quiet) as progress:
        if out is not None:
            results.write_text(toml, resolved)
        result = execute(experiment, progress, watch, checkpoints)
    if out is not None:
        results.write(out, result)
    print(
        f"{result['method']} on {result['dataset']} ({result['partition']}, {config.clients} clients): "
        f"accuracy {result['last_accuracy']:.2f}% after {result['rounds']} rounds, best {result['best_accuracy']:.2f}%"
    )


def open_checkpoints(files: Files, config: Config) -> "Checkpoints":
    """Of the run, in the folder that the flags name, which must not hold another one."""
    from fedcos_jax.checkpoint import Checkpoints

    checkpoints = Checkpoints(Path(str(files.checkpoint_dir)), config.identity, files.checkpoint_seconds)
    results.require_folder(checkpoints.folder, f"cannot keep checkpoints in {checkpoints.folder}")
    checkpoints.about(config.rounds)
    return checkpoints
