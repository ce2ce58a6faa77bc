"""The installed command: `fedcos run`, `fedcos data`, `fedcos partition` and `fedcos list`."""

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from fedcos_jax import __version__, data_commands, mesh, results
from fedcos_jax.data import DATASETS
from fedcos_jax.errors import InputError, require
from fedcos_jax.experiment import SETTINGS, Config, execute, from_text, prepare
from fedcos_jax.methods import METHODS, MethodSpec, Term, parse
from fedcos_jax.models import MODELS
from fedcos_jax.partition import PARTITIONS
from fedcos_jax.progress import progress_bar

USER_ERROR = 2


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    mesh.use_all_cores()
    return guard("fedcos", options.command, options)


def guard(program: str, command: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Runs a command; a user's mistake becomes one line on standard error and exit code 2."""
    try:
        command(options)
    except InputError as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fedcos", description="Federated learning, every client at once.")
    parser.add_argument("--version", action="version", version=f"fedcos {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    data_commands.add_data(commands)
    data_commands.add_partition(commands)
    listing = commands.add_parser("list", help="datasets, models, partitions and methods by name")
    listing.set_defaults(command=list_names)
    return parser


def _add_run(commands) -> None:
    run = commands.add_parser(
        "run",
        help="train one federated model and print its accuracy",
        description="Trains one federated model.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos run                                          FedCos on the embedded digits
  fedcos run --method FedAvg --partition iid          plain averaging on IID clients
  fedcos run --method fedopt --server-lr 1.5 --cos-strength 0.02
                                                      the same as --method "FedOpt(1.5)+FedCos(0.02)"
  fedcos run --dataset fashion_mnist --data-dir DATA --clients 100 --partition shards2 --fraction 0.1""",
    )
    run.set_defaults(command=run_config)
    titles = dict.fromkeys(field.metadata["group"] for field in SETTINGS.values())
    groups = {title: run.add_argument_group(title) for title in titles}
    for name, field in SETTINGS.items():
        how = (
            {"action": "store_const", "const": "true"}
            if field.type is bool
            else {"metavar": name.split("_")[-1].upper()}
        )
        shown = "" if field.default is None or field.type is bool else f" (default: {field.default})"
        groups[field.metadata["group"]].add_argument(_flag(name), **how, help=field.metadata["help"] + shown)
    for entry in METHODS.values():
        if entry.parameter is not None:
            text = f"the number of {entry.label}" + (
                ", alone or on top of the method" if entry.label == "FedCos" else ""
            )
            groups["method"].add_argument(_flag(entry.parameter), type=float, metavar="NUMBER", help=text)
    output = run.add_argument_group("input and output")
    output.add_argument("--data-dir", metavar="DIR", help="folder of the datasets (default: variable FEDCOS_DATA_DIR)")
    output.add_argument("--out", type=Path, metavar="FILE", help="write the result, history included, as JSON")
    output.add_argument("--quiet", action="store_true", help="no progress bar")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def run_config(options: argparse.Namespace) -> None:
    given = {name: text for name, text in vars(options).items() if name in SETTINGS and text is not None}
    config = Config(**from_text(given))
    config = dataclasses.replace(config, method=resolve_method(config.method, options).label)
    experiment = prepare(config, options.data_dir)
    with progress_bar(config.method, config.rounds, shown=not options.quiet) as progress:
        result = execute(experiment, progress)
    if options.out is not None:
        results.write(options.out, result)
    print(
        f"{result['method']} on {result['dataset']} ({result['partition']}, {result['config']['clients']} clients): "
        f"accuracy {result['last_accuracy']:.2f}% after {result['rounds']} rounds, best {result['best_accuracy']:.2f}%"
    )


def resolve_method(label: str, options: argparse.Namespace) -> MethodSpec:
    """The method of the label, with the numbers of the flags."""
    base, cosine = parse(label)
    for name, entry in METHODS.items():
        value = None if entry.parameter is None else getattr(options, entry.parameter)
        if value is None:
            continue
        if name == "fedcos" and base.name not in ("fedavg", "fedcos"):
            cosine = Term(name, value)
        else:
            flag = _flag(str(entry.parameter))
            belongs = name in ("fedcos", base.name)
            require(belongs, f"{flag} is the number of {entry.label}, but the method is {base.label}")
            base = Term(name, value)
    return MethodSpec(base, cosine)


def list_names(options: argparse.Namespace) -> None:
    print("datasets")
    for name, dataset in DATASETS.items():
        print(f"  {name:<16} {dataset.summary}")
    print("models")
    for name, model in MODELS.items():
        print(f"  {name:<16} {model.summary}")
    print("partitions")
    for partition in PARTITIONS.values():
        print(f"  {partition.example:<16} {partition.summary}")
    print("methods (any of them takes +FedCos(strength))")
    for method in METHODS.values():
        number = "" if method.parameter is None else f"({method.default:g})"
        print(f"  {method.label + number:<16} {_flag(method.parameter) if method.parameter else ''}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
