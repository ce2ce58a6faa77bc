"""`fedcos completion`: what a shell needs to complete the command's flags and names by the tab key."""

import argparse

from fedcos_jax.cli.imports import KEY
from fedcos_jax.data import DATASETS, SOURCES
from fedcos_jax.data.partition import PARTITIONS
from fedcos_jax.errors import require_package
from fedcos_jax.labels import METHODS
from fedcos_jax.models import MODELS
from fedcos_jax.runs.config import LEARNING_RATE_SCHEDULES

SHELLS = ("bash", "zsh", "tcsh")
FILES = ("config", "out", "plot", "results", KEY)
FOLDERS = ("data_dir", "log_dir", "checkpoint_dir")


def add_completion(commands, parser: argparse.ArgumentParser) -> None:
    """Adds `completion` to the subcommands of a parser."""
    command = commands.add_parser(
        "completion",
        help="print the script by which a shell completes this command",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos completion bash > ~/.local/share/bash-completion/completions/fedcos
  fedcos completion zsh > ~/.zfunc/_fedcos            in a folder of fpath""",
    )
    command.add_argument("shell", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")
    command.set_defaults(command=lambda options: print(script(parser, options.shell)))


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell. The parser is changed: it then accepts only the names that are completed."""
    require_package("shtab", "fedcos completion")
    import shtab

    _say_what_fits(parser, shtab.FILE, shtab.DIRECTORY)
    return shtab.complete(parser, shell)


def _say_what_fits(parser: argparse.ArgumentParser, file: dict, folder: dict) -> None:
    """Gives every argument the names, files or folders that fit, in the parser and in its subcommands."""
    names = {
        "dataset": [name for name, entry in DATASETS.items() if entry.rows is not None],
        "model": list(MODELS),
        "partition": [entry.example for entry in PARTITIONS.values()],
        "method": list(METHODS),
        "source": list(SOURCES),
        "lr_schedule": list(LEARNING_RATE_SCHEDULES),
    }
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in set(action.choices.values()):
                _say_what_fits(command, file, folder)
        elif action.dest in names:
            action.choices = names[action.dest]
        elif action.dest in (*FILES, *FOLDERS):
            action.complete = file if action.dest in FILES else folder  # type: ignore[attr-defined]
