"""The installed command: `fedcos run`, `sweep`, `plot`, `data`, `partition` and `list`."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

from fedcos_jax import __version__, data_commands, mesh, plot_command, run_command, sweep_command
from fedcos_jax.compilation import keep_compiled_programs
from fedcos_jax.data import DATASETS
from fedcos_jax.errors import InputError, did_you_mean
from fedcos_jax.methods import METHODS
from fedcos_jax.models import MODELS
from fedcos_jax.partition import PARTITIONS
from fedcos_jax.settings import flag

USER_ERROR = 2
Given = TypeVar("Given")

EXAMPLES = """examples:
  fedcos run                                          train on the embedded digits: nothing to download
  fedcos run --out fedcos.json                        its result in a file
  fedcos run --method FedAvg --out fedavg.json        another method
  fedcos plot fedavg.json fedcos.json                 compare results
  fedcos list                                         what there is to choose from

fedcos COMMAND --help has more of them for every command."""


class Parser(argparse.ArgumentParser):
    """Answers a mistake with one line, as every other mistake is."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def main(arguments: list[str] | None = None) -> int:
    return guard("fedcos", dispatch, arguments)


def dispatch(arguments: list[str] | None) -> None:
    options, unknown = parser().parse_known_args(arguments)
    if unknown:
        hint = did_you_mean(unknown[0], map(flag, vars(options)))
        raise InputError(f"unknown argument {unknown[0]!r}{hint} (--help lists them all)")
    mesh.use_all_cores()
    keep_compiled_programs()
    options.command(options)


def guard(program: str, command: Callable[[Given], None], given: Given) -> int:
    """Runs a command; a user's mistake becomes one line on standard error and exit code 2."""
    try:
        command(given)
    except InputError as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return USER_ERROR
    except BrokenPipeError:
        # Who reads the output has had enough, as in `fedcos list | head`; Python must not try to write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="fedcos",
        description="Federated learning, every client at once.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"fedcos {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run_command.add_run(commands)
    sweep_command.add_sweep(commands)
    plot_command.add_plot(commands)
    data_commands.add_data(commands)
    data_commands.add_partition(commands)
    listing = commands.add_parser(
        "list",
        help="datasets, models, partitions and methods by name",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos list                                         the names that fedcos run takes""",
    )
    listing.set_defaults(command=list_names)
    return parser


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
        by_flag = "" if method.parameter is None else f"; {flag(method.parameter)}"
        print(f"  {method.label + number:<16} {method.summary}{by_flag}")


if __name__ == "__main__":
    sys.exit(main())
