"""The log as a run of Weights & Biases, which needs the package wandb. WANDB_MODE=offline needs no account."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from fedcos_jax.errors import InputError, require_package
from fedcos_jax.runs.logs.tables import Rows, Writer


def wandb_run(
    project: str,
    name: str,
    config: dict[str, Any],
    *,
    folder: Path | None = None,
    identity: str | None = None,
    quiet: bool = False,
) -> AbstractContextManager[Writer]:
    """A run of a project. Its step is the round.

    Args:
        project: its name.
        name: of the run.
        config: what the run shows as its config.
        folder: where wandb keeps its own files. None for the folder `wandb` here.
        identity: the id of a run that goes on when this process is killed and started again.
        quiet: whether wandb prints nothing.
    """
    require_package("wandb", "--wandb")
    goes_on = {} if identity is None else {"id": identity, "resume": "allow"}
    return _opened(folder, quiet, {"project": project, "name": name, "config": config, **goes_on})


@contextmanager
def _opened(folder: Path | None, quiet: bool, run_is: dict[str, Any]) -> Iterator[Writer]:
    import wandb

    try:
        if folder is not None:
            folder = folder.absolute()
            folder.mkdir(parents=True, exist_ok=True)
        opened = wandb.init(dir=folder, settings=wandb.Settings(silent=quiet), **run_is)
    except (wandb.errors.Error, OSError) as error:
        raise InputError(f"cannot log to W&B: {' '.join(str(error).split())}") from None
    with opened as run:
        # A run that goes on is told its first rounds again, which W&B has.
        first = run.starting_step

        def write(rows: Rows) -> None:
            for row in rows:
                if row["round"] >= first:
                    values = {key: value for key, value in row.items() if key != "round" and value is not None}
                    run.log(values, step=row["round"])

        yield write
