"""The installed command: `fedcos run` and `fedcos list`."""

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from fedcos_jax import __version__, results
from fedcos_jax.data import DATASETS
from fedcos_jax.errors import InvalidInput, require
from fedcos_jax.experiment import LEARNING_RATE_SCHEDULES, Config, execute
from fedcos_jax.methods import METHODS, MethodSpec, Term, parse
from fedcos_jax.models import MODELS
from fedcos_jax.partition import PARTITIONS
from fedcos_jax.progress import progress_bar

USER_ERROR = 2


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return guard("fedcos", options.command, options)


def guard(program: str, command: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Runs a command; a user's mistake becomes one line on standard error and exit code 2."""
    try:
        command(options)
    except InvalidInput as error:
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
    flags = {
        "scene": [
            ("dataset", "dataset by name"),
            ("model", "model by name"),
            ("partition", "who owns which rows, like sorted, mixed90, shards2, dirichlet0.3"),
            ("clients", "number of clients"),
            ("fraction", "share of the clients in a round, in (0, 1]"),
        ],
        "schedule": [
            ("rounds", "rounds of aggregation"),
            ("local_steps", "local steps of a client in a round"),
            ("local_epochs", "instead of local steps: passes over the client's own rows"),
            ("batch_size", "rows of a local step"),
            ("eval_every", "rounds between evaluations"),
            ("chunk", "clients trained at once (default: all); changes speed and memory, not results"),
            ("seed", "seed of everything random"),
        ],
        "client optimizer": [
            ("lr", "learning rate"),
            ("lr_schedule", f"over rounds: {', '.join(LEARNING_RATE_SCHEDULES)}"),
            ("lr_decay", "factor a round of the exponential schedule"),
            ("momentum", "momentum inside a round"),
            ("weight_decay", "weight decay"),
        ],
        "method": [
            ("method", 'one of `fedcos list`, or as in the paper: "FedOpt(1.5)+FedCos(0.02)"'),
        ],
    }
    defaults = {field.name: field for field in dataclasses.fields(Config)}
    for title, members in flags.items():
        group = run.add_argument_group(title)
        for name, text in members:
            field = defaults[name]
            kind = {"int": int, "float": float}.get(str(field.type).split(" ")[0].split("'")[-1].rstrip("'>"), str)
            shown = "" if field.default is None else f" (default: {field.default})"
            group.add_argument(_flag(name), type=kind, default=field.default, help=text + shown)
    for name, entry in METHODS.items():
        if entry.parameter is not None:
            text = f"the number of {entry.label} (default: {entry.default:g})"
            if name == "fedcos":
                text = "strength of FedCos, alone or on top of the method; 0 takes it away"
            group.add_argument(_flag(entry.parameter), type=float, help=text)
    group.add_argument("--half-proximal", action="store_true", help="FedProx with the ½ of its own paper")
    group.add_argument("--damped-momentum", action="store_true", help="FedAvgM as m ← βm + (1-β)Δ, not m ← βm + Δ")
    group.add_argument("--epsilon", type=float, default=0.0, help="in the cosine penalty; the authors' code has 1e-4")
    group.add_argument("--before-server", action="store_true", help="direction from before the server optimizer")
    group.add_argument("--uniform-weights", action="store_true", help="plain mean over clients, not by data size")
    output = run.add_argument_group("input and output")
    output.add_argument("--data-dir", help="folder of the datasets (default: the variable FEDCOS_DATA_DIR)")
    output.add_argument("--out", type=Path, help="write the result as JSON")
    output.add_argument("--quiet", action="store_true", help="no progress bar")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def run_config(options: argparse.Namespace) -> None:
    names = {field.name for field in dataclasses.fields(Config)}
    config = Config(**{name: value for name, value in vars(options).items() if name in names})
    config = dataclasses.replace(config, method=resolve_method(options).label)
    with progress_bar(config.method, config.rounds, shown=not options.quiet) as progress:
        result = execute(config, data_dir=options.data_dir, progress=progress)
    if options.out is not None:
        results.write(options.out, result)
    print(
        f"{result['method']} on {result['dataset']} ({result['partition']}, {result['config']['clients']} clients): "
        f"accuracy {result['last_accuracy']:.2f}% after {result['rounds']} rounds, best {result['best_accuracy']:.2f}%"
    )


def resolve_method(options: argparse.Namespace) -> MethodSpec:
    """The method of the label, with the numbers of the flags."""
    base, cosine = parse(options.method)
    given = {name: getattr(options, entry.parameter) for name, entry in METHODS.items() if entry.parameter is not None}
    for name, value in given.items():
        if value is None or name == "fedcos":
            continue
        require(name == base.name, f"{_flag(METHODS[name].parameter)} is a number of {METHODS[name].label}, not of {base.label}")
        base = Term(name, value)
    strength = given["fedcos"]
    if strength is None:
        return MethodSpec(base, cosine)
    if base.name in ("fedavg", "fedcos"):
        return MethodSpec(Term("fedcos", strength))
    return MethodSpec(base, Term("fedcos", strength))


def list_names(options: argparse.Namespace) -> None:
    print("datasets")
    for name, dataset in DATASETS.items():
        print(f"  {name:<16} {dataset.summary}")
    print("models")
    for name in MODELS:
        print(f"  {name}")
    print("partitions")
    for partition in PARTITIONS.values():
        print(f"  {partition.example:<16} {partition.summary}")
    print("methods (any of them takes +FedCos(strength))")
    for method in METHODS.values():
        number = "" if method.parameter is None else f"({method.default:g})"
        print(f"  {method.label + number:<16} {_flag(method.parameter) if method.parameter else ''}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
