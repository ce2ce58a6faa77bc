"""`fedcos list`: the names that the other commands take."""

import argparse
from collections.abc import Sequence

from fedcos_jax.cli.flags import flag
from fedcos_jax.cli.imports import add_import
from fedcos_jax.data import DATASETS
from fedcos_jax.data.partition import PARTITIONS
from fedcos_jax.labels import METHODS, WRAPPERS, Entry, parse
from fedcos_jax.models import MODELS


def add_list(commands) -> None:
    """Adds `list` to the subcommands."""
    command = commands.add_parser(
        "list",
        help="show datasets, models, partitions and methods by name",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos list                                         the names that fedcos run takes
  fedcos list --import my_methods.py                  with those that a file of your own adds""",
    )
    add_import(command)
    command.set_defaults(command=list_names)


def list_names(options: argparse.Namespace) -> None:
    """Prints every registry."""
    _print("datasets", [(name, entry.summary) for name, entry in DATASETS.items()])
    _print("models", [(name, entry.summary) for name, entry in MODELS.items()])
    _print("partitions", [(entry.example, entry.summary) for entry in PARTITIONS.values()])
    _print("methods", [_method(name, entry) for name, entry in METHODS.items()])
    _print("on top of any method, joined by +", [_method(name, entry) for name, entry in WRAPPERS.items()])


def _print(title: str, rows: Sequence[tuple[str, str]]) -> None:
    print(title)
    for name, summary in rows:
        print(f"  {name:<16} {summary}")


def _method(name: str, entry: Entry) -> tuple[str, str]:
    flags = "".join(f"; {flag(parameter.flag)}" for parameter in entry.parameters if parameter.flag)
    named = ", ".join(parameter.name for parameter in entry.parameters[1:])
    return parse(name).label, entry.summary + flags + (f"; also {named}" if named else "")
