"""The installed command `fedcos`: its subcommands, and its one-line answers to mistakes."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from fedcos_jax import __version__
from fedcos_jax.cli import completion, data, evaluate, imports, listing, plot, run, sweep
from fedcos_jax.cli.colour import red
from fedcos_jax.cli.flags import flag
from fedcos_jax.engine import devices
from fedcos_jax.engine.compilation import keep_compiled_programs
from fedcos_jax.errors import InputError, did_you_mean

USER_ERROR = 2
Given = TypeVar("Given")

EXAMPLES = """examples:
  fedcos run                                          train on the embedded digits: nothing to download
  fedcos run --out fedcos.json                        write its result to a file
  fedcos run --method FedAvg --out fedavg.json        train with another method
  fedcos plot fedavg.json fedcos.json                 compare results
  fedcos list                                         show what there is to choose from

`fedcos COMMAND --help` shows more examples for every command."""


class Parser(argparse.ArgumentParser):
    """Answers a mistake with one line, like every other mistake."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return guard("fedcos", dispatch, arguments)


def dispatch(arguments: list[str] | None) -> None:
    """Parses the arguments and calls the subcommand."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Before the parser is made: new rows bring new names and flags.
    imports.import_all(imports.named(_beforehand(arguments)))
    options, unknown = parser().parse_known_args(arguments)
    if unknown:
        hint = did_you_mean(unknown[0], map(flag, vars(options)))
        raise InputError(f"unknown argument {unknown[0]!r}{hint} (--help lists them all)")
    if options.command is None:
        parser().print_help()
        return
    devices.use_all_cores()
    keep_compiled_programs()
    options.command(options)


def _beforehand(arguments: list[str]) -> argparse.Namespace:
    """What is read before all other arguments: --import and --config."""
    first = Parser(prog="fedcos", add_help=False)
    imports.add_import(first)
    first.add_argument("--config", type=Path)
    return first.parse_known_args(arguments)[0]


def guard(program: str, command: Callable[[Given], None], given: Given) -> int:
    """Runs a command. A user's mistake becomes one line on standard error and exit code 2."""
    try:
        command(given)
    except InputError as error:
        print(f"{program}: {red('error:', sys.stderr)} {error}", file=sys.stderr)
        return USER_ERROR
    except BrokenPipeError:
        # The reader of the output has closed it, as in `fedcos list | head`. Python must not try to write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of all subcommands."""
    parser = Parser(
        prog="fedcos",
        description="Federated learning, every client at once.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"fedcos {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    run.add_run(commands)
    evaluate.add_evaluate(commands)
    sweep.add_sweep(commands)
    plot.add_plot(commands)
    data.add_data(commands)
    data.add_partition(commands)
    listing.add_list(commands)
    completion.add_completion(commands, parser)
    return parser
