"""A progress bar for runs: rounds, rounds a second and the latest accuracy, on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from fedcos_jax.simulate import Evaluation, Progress


@contextmanager
def progress_bar(label: str, rounds: int, *, shown: bool = True) -> Iterator[Progress]:
    """Yields the callback for `simulate.run`."""
    with tqdm(total=rounds, desc=label, unit="round", disable=not shown, dynamic_ncols=True) as bar:

        def advance(completed: int, evaluation: Evaluation) -> None:
            bar.set_postfix_str(f"accuracy {100 * float(evaluation.accuracy):.2f}%", refresh=False)
            bar.update(completed - bar.n)

        yield advance
