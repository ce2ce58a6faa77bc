"""`--import`: files and modules of the user that add rows to the registries before the command is read."""

import argparse
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedcos_jax.errors import InputError, require
from fedcos_jax.runs import settings

KEY = "import"
"""The key of a config file that names what to import."""


def add_import(parser) -> None:
    """Adds the flag to a parser or to a group of one."""
    parser.add_argument(
        f"--{KEY}",
        action="append",
        metavar="FILE",
        help="run a Python file or module first, which adds methods, datasets, ... of your own; may be repeated",
    )


def named(options: argparse.Namespace) -> list[str]:
    """What the config file and the flags name, each once."""
    flags = getattr(options, KEY) or []
    kept = [] if options.config is None else settings.read_toml(options.config).get(KEY, [])
    kept = [kept] if isinstance(kept, str) else kept
    texts = isinstance(kept, list) and all(isinstance(name, str) for name in kept)
    require(texts, f"the key {KEY} of {options.config} must be a list of files or modules")
    return list(dict.fromkeys([*kept, *flags]))


def import_all(names: Sequence[str]) -> None:
    """Imports files, which end in .py, and modules. A mistake in one of them is told in one line."""
    for name in names:
        path = Path(name) if name.endswith(".py") else None
        folder = str(Path.cwd() if path is None else path.parent.absolute())
        if folder not in sys.path:
            sys.path.insert(0, folder)
        require(path is None or path.is_file(), f"cannot import {name}: there is no such file")
        try:
            if path is None:
                importlib.import_module(name)
            else:
                _run_file(path)
        except (Exception, SystemExit) as error:
            words = " ".join(str(getattr(error, "msg", error)).split())
            raise InputError(f"cannot import {name}: {_place(error, path)}{type(error).__name__}: {words}") from None


def _run_file(path: Path) -> None:
    spec: Any = importlib.util.spec_from_file_location(f"fedcos_import_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)


def _place(error: BaseException, path: Path | None) -> str:
    """Where in the user's code the error is."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: "
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    theirs = [frame for frame in frames if path is not None and Path(frame.filename).absolute() == path.absolute()]
    others = [frame for frame in frames if frame.filename not in (__file__, importlib.__file__)]
    found = (theirs or others)[-1:]
    return "".join(f"{frame.filename}, line {frame.lineno}: " for frame in found)
