"""The flags that describe a run, for `fedcos run` and `fedcos sweep`: declared as settings, read as text."""

import argparse
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fedcos_jax.cli.imports import KEY, add_import
from fedcos_jax.data import SOURCES
from fedcos_jax.errors import require
from fedcos_jax.labels import FLAGS, METHODS, WRAPPERS, MethodSpec
from fedcos_jax.runs import settings
from fedcos_jax.runs.config import Config
from fedcos_jax.runs.settings import setting

GROUP = "input and output"


@dataclasses.dataclass(frozen=True, kw_only=True)
class InputOutput:
    """Where a run reads and writes, and when it stops. None of it changes a number."""

    data_dir: str | None = setting(None, GROUP, "folder of the datasets (default: variable FEDCOS_DATA_DIR)")
    source: str = setting("auto", GROUP, f"of the dataset: {', '.join(SOURCES)}")
    out: str | None = setting(None, GROUP, "write the result as JSON, and the config that gives it as TOML beside it")
    save: str | None = setting(None, GROUP, "write the parameters of the last model to this .safetensors file")
    log_dir: str | None = setting(None, GROUP, "write the history during the run: CSV, JSON Lines, TensorBoard")
    tensorboard: bool | None = setting(
        None, GROUP, "write TensorBoard's event files in the log directory (default: if tensorboardX is installed)"
    )
    checkpoint_dir: str | None = setting(
        None, GROUP, "keep the run here; the same command goes on from there, also to more rounds"
    )
    checkpoint_seconds: float = setting(60.0, GROUP, "least seconds between checkpoints")
    wandb: str | None = setting(None, GROUP, "log to this project of Weights & Biases")
    mlflow: str | None = setting(None, GROUP, "log to the MLflow server, database or folder at this address")
    target_accuracy: float | None = setting(None, GROUP, "end the run when the test accuracy reaches this many percent")
    patience: int | None = setting(
        None, GROUP, "end the run after this many evaluations in a row without a better accuracy"
    )
    stop_on_divergence: bool = setting(False, GROUP, "end the run when it diverges, with exit code 3")
    quiet: bool = setting(False, GROUP, "no progress bar")


OPTIONS_OF = {option: entry.label for entry in (*METHODS.values(), *WRAPPERS.values()) for option in entry.options}
"""The options that only one method or wrapper reads, and its label."""


def keys() -> tuple[str, ...]:
    """The keys of a config file."""
    return (*settings.declared(Config), *FLAGS, *settings.declared(InputOutput), KEY)


def flag(name: str) -> str:
    """local_steps -> --local-steps"""
    return "--" + name.replace("_", "-")


def add_settings(
    command: argparse.ArgumentParser, texts: Mapping[str, str] | None = None
) -> dict[str, argparse._ArgumentGroup]:
    """Adds the flags that `resolve` reads, and returns their headings. `texts` replaces the help of some of them."""
    groups = _add_flags(command, texts or {}, Config, InputOutput)
    taken = {**settings.declared(Config), **settings.declared(InputOutput)}
    for name, (term, label, parameter) in FLAGS.items():
        require(name not in taken, f"{flag(name)} cannot be a flag of {label}: another setting has the name {name}")
        where = ", which it adds to the method" if term in WRAPPERS else ""
        groups["method"].add_argument(flag(name), metavar="NUMBER", help=f"{parameter} of {label}{where}")
    groups[GROUP].add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file with any of these flags as keys; flags win over it"
    )
    add_import(groups[GROUP])
    return groups


def _add_flags(
    parser: argparse.ArgumentParser, texts: Mapping[str, str], *kinds: type
) -> dict[str, argparse._ArgumentGroup]:
    """Adds a flag for every setting, under the headings they name, and returns the headings."""
    fields = [field for kind in kinds for field in dataclasses.fields(kind)]
    titles = dict.fromkeys(field.metadata["group"] for field in fields)
    groups = {title: parser.add_argument_group(title) for title in titles}
    for field in fields:
        is_switch = settings.type_of(field) is bool
        shown = "" if field.default is None or is_switch else f" (default: {field.default})"
        how: dict[str, Any] = {"metavar": field.name.split("_")[-1].upper()}
        if is_switch:
            how = {"action": argparse.BooleanOptionalAction}
        groups[field.metadata["group"]].add_argument(
            *filter(None, (flag(field.name), field.metadata["also"])),
            **how,
            default=None,
            help=texts.get(field.name, field.metadata["help"] + shown),
        )
    return groups


def resolve(options: argparse.Namespace) -> tuple[Config, InputOutput]:
    """What the flags and the config file say."""
    texts = {} if options.config is None else settings.read_file(options.config, keys())
    # The numbers in the file belong to the method in the file, and its epochs replace steps. Its checksum belongs to
    # its parameters.
    replaced = [*(FLAGS if options.method is not None else ()), *(["local_epochs"] if options.local_steps else [])]
    replaced += ["start_checksum"] if options.start_from else []
    texts = {name: text for name, text in texts.items() if name not in replaced}
    refuse_contradictions(options)
    texts |= {name: str(value) for name in keys() if (value := getattr(options, name)) is not None}

    def part(names: Iterable[str]) -> dict[str, str]:
        return {name: texts[name] for name in names if name in texts}

    config = Config(**settings.from_text(Config, part(settings.declared(Config))))
    places = InputOutput(**settings.from_text(InputOutput, part(settings.declared(InputOutput))))
    numbers = {name: settings.read(text, float, name) for name, text in part(FLAGS).items()}
    return dataclasses.replace(config, method=with_numbers(config.spec, numbers).label), places


def with_numbers(spec: MethodSpec, numbers: dict[str, float]) -> MethodSpec:
    """The method with the numbers that were given by flags."""
    for name in numbers:
        term, label, _ = FLAGS[name]
        belongs = term in WRAPPERS or term == spec.base.name
        require(belongs, f"{flag(name)} is a number of {label}, but the method is {spec.base.label}")
    return spec.with_numbers(numbers)


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Raises InputError for flags of which one would be ignored."""
    epochs = options.local_epochs not in (None, "none")
    require(not (options.local_steps and epochs), "give --local-steps or --local-epochs, not both")
    refuse_twice(options.method or "", [name for name in FLAGS if getattr(options, name) is not None], flag)
    kept = options.checkpoint_dir is not None or options.config is not None
    require(kept or options.checkpoint_seconds is None, "--checkpoint-seconds needs --checkpoint-dir, where it writes")


def refuse_twice(label: str, given: Iterable[str], form: Callable[[str], str]) -> None:
    """Raises InputError if a method's label has a number that is also given by a name, shown in this form."""
    for name in given:
        owner = FLAGS[name].label
        twice = f"{owner.lower()}(" in label.lower()
        require(not twice, f"the number of {owner} is given twice: by the method and by {form(name)}")


def refuse_idle_options(options: argparse.Namespace, method: str) -> None:
    """Raises InputError for a flag that the method does nothing with."""
    for name, label in OPTIONS_OF.items():
        used = getattr(options, name) is None or label in method
        require(used, f"{flag(name)} is an option of {label}, but the method is {method}")
