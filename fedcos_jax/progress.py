"""Progress bars, on standard error: rounds, rounds a second and the latest accuracy of a run; runs of a sweep."""

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


def runs_bar(label: str, runs: int, *, shown: bool = True) -> tqdm:
    """For runs that one program makes together: how many of them are done."""
    return tqdm(total=runs, desc=label, unit="run", disable=not shown, dynamic_ncols=True)
