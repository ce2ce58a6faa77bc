"""Progress bars on standard error: the rounds of one run, or the runs of a sweep."""

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from fedcos_jax.engine.loop import Callback, Report
from fedcos_jax.runs.result import headline


@contextmanager
def progress_bar(label: str, rounds: int, *, shown: bool = True) -> Iterator[Callback]:
    """Yields the callback of a run that shows its rounds, rounds per second and latest accuracy."""
    with tqdm(total=rounds, desc=label, unit="round", disable=not shown, dynamic_ncols=True) as bar:

        def advance(report: Report) -> None:
            if report.evaluation is not None:
                bar.set_postfix_str(headline(report.evaluation), refresh=False)
            bar.update(report.completed - bar.n)

        yield advance


def runs_bar(label: str, runs: int, *, shown: bool = True) -> tqdm:
    """The bar of runs that one program makes together: how many of them are done."""
    return tqdm(total=runs, desc=label, unit="run", disable=not shown, dynamic_ncols=True)
