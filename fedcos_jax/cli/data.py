"""`fedcos data`, `fedcos data prepare` and `fedcos partition`."""

import argparse
import time
from pathlib import Path

import numpy as np

from fedcos_jax.cli import charts
from fedcos_jax.data import DATASETS, SOURCES, data_directory, load
from fedcos_jax.data.sources import describe
from fedcos_jax.errors import InputError
from fedcos_jax.runs.config import Config


def add_data(commands) -> None:
    """Adds `data` to the subcommands."""
    data = commands.add_parser(
        "data",
        help="where each dataset was found, or how to get it; `data prepare NAME` checks and decodes one",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos data                                         which datasets there are, and how to get the others
  fedcos data prepare cifar10 --data-dir DATA         check and decode once, so that runs start quickly
  fedcos data prepare fashion_mnist --source tfds     through TensorFlow Datasets""",
    )
    _add_data_dir(data)
    data.set_defaults(command=list_datasets)
    actions = data.add_subparsers(metavar="ACTION")
    prepare = actions.add_parser(
        "prepare",
        help="check and decode a dataset into the cache",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos data prepare fashion_mnist --data-dir DATA   from the files in DATA
  fedcos data prepare cifar10 --source tfds           download through TensorFlow Datasets""",
    )
    prepare.add_argument("name", help="name of the dataset")
    prepare.add_argument("--source", default="auto", help=f"one of {', '.join(SOURCES)} (default: auto)")
    # A default here would overwrite a --data-dir that is given before the action, so there is none.
    _add_data_dir(prepare, default=argparse.SUPPRESS)
    prepare.set_defaults(command=prepare_dataset)


def add_partition(commands) -> None:
    """Adds `partition` to the subcommands."""
    command = commands.add_parser(
        "partition",
        help="who owns which classes under a partition, in numbers and as a picture",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  fedcos partition --partition dirichlet0.3 --clients 20 --plot partition.png""",
    )
    defaults = Config()
    for name in ("dataset", "partition", "clients", "seed"):
        value = getattr(defaults, name)
        command.add_argument(
            f"--{name}", default=value, type=type(value), help=f"as in `fedcos run` (default: {value})"
        )
    _add_data_dir(command)
    command.add_argument("--plot", type=Path, metavar="FILE", help="draw clients x classes as .png, .pdf or .svg")
    command.set_defaults(command=show_partition)


def _add_data_dir(command: argparse.ArgumentParser, **options) -> None:
    text = "folder of the datasets (default: variable FEDCOS_DATA_DIR)"
    command.add_argument("--data-dir", metavar="DIR", help=text, **options)


def list_datasets(options: argparse.Namespace) -> None:
    folder = data_directory(options.data_dir)
    for name, entry in DATASETS.items():
        unknown = "as in its files" if entry.varies else "as many as asked"
        rows = unknown if entry.rows is None else "{:,} + {:,}".format(*entry.rows)
        print(f"{name:<16} {rows:>17} rows  {_shape(entry.shape):<8}  {describe(name, folder)}")


def prepare_dataset(options: argparse.Namespace) -> None:
    started = time.perf_counter()
    dataset = load(options.name, options.source, options.data_dir)
    seconds = time.perf_counter() - started
    train, test = len(dataset.train.y), len(dataset.test.y)
    clients = "" if dataset.groups is None else f", {len(np.unique(dataset.groups)):,} clients"
    classes = "" if dataset.classes is None else f", {dataset.classes} classes"
    print(
        f"{dataset.name}: {train:,} training and {test:,} test rows ({train + test:,} in all) "
        f"of shape {_shape(dataset.input_shape)}{classes}{clients}; ready in {seconds:.1f} s"
    )


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def show_partition(options: argparse.Namespace) -> None:
    dataset = load(options.dataset, data_dir=options.data_dir)
    named = {name: getattr(options, name) for name in ("dataset", "partition", "clients", "seed")}
    ownership, _ = Config(**named).draws(dataset)
    if dataset.classes is None:
        raise InputError(f"the labels of {dataset.name} are not classes, so no client has a mix of them to show")
    counts = charts.class_counts(dataset.train.y, ownership, dataset.classes)
    title = f"{dataset.name}, {options.partition}, {len(counts):,} clients"
    if options.plot is not None:
        charts.draw_partition(counts, title, options.plot)
    for what, numbers in (("rows", counts.sum(axis=1)), ("classes", (counts > 0).sum(axis=1))):
        print(f"{title}: {numbers.min():,} to {numbers.max():,} {what} per client, median {np.median(numbers):,.0f}")
