"""The log as TensorBoard's event files, which need the package tensorboardX."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedcos_jax.runs.logs.tables import Rows, Writer


@contextmanager
def event_file(folder: Path, *, anew: bool) -> Iterator[Writer]:
    """A file of scalars.

    Args:
        folder: where the file is made.
        anew: whether TensorBoard is to ignore the values of earlier files in the folder.
    """
    from tensorboardX import SummaryWriter

    with SummaryWriter(str(folder), purge_step=0 if anew else None) as events:

        def write(rows: Rows) -> None:
            for row in rows:
                for name, value in row.items():
                    if name != "round" and value is not None:
                        events.add_scalar(name, value, row["round"])
            events.flush()

        yield write
