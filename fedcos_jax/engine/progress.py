"""Progress on standard error: a bar that ticks where someone looks on, and a few plain lines in a log file."""

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from fedcos_jax.engine.callbacks import Callback, Report
from fedcos_jax.engine.evaluation import score

_REFRESH_SECONDS = 0.2
"""Seconds between two refreshes of a bar. Its seconds tick even while no round ends."""
_LINE_SECONDS = 5.0
"""Least seconds between two lines of a log."""
_SILENT_SECONDS = 300.0
"""After this many seconds, a line is due even if less than a tenth of the work was done in them."""


class Progress:
    """How much of something is done. This class shows nothing; the classes below do."""

    done = 0
    note = ""

    def to(self, done: int, note: str = "") -> None:
        """Shows that this much is done. The note stands behind it until there is another one."""
        self.done, self.note = done, note or self.note

    def update(self, count: int) -> None:
        """Shows that this much more is done."""
        self.to(self.done + count)

    @contextmanager
    def compiling(self, done: int) -> Iterator[None]:
        """Shows how long a program has been compiling. Speed and time left are counted from its end on."""
        yield

    def close(self) -> None:
        """Shows nothing more."""


@contextmanager
def progress_bar(label: str, rounds: int, *, shown: bool = True) -> Iterator[Callback]:
    """Yields the callback of a run that shows its rounds, rounds per second, time left and latest accuracy.

    Args:
        label: what the run is called.
        rounds: the rounds of the whole run.
        shown: whether to show anything.
    """
    with _opened(label, rounds, "round", shown) as progress:
        yield _Rounds(progress)


@contextmanager
def runs_bar(label: str, runs: int, *, shown: bool = True) -> Iterator[Progress]:
    """Yields the progress of runs that one program makes together. Its `update` says that more of them are done."""
    with _opened(label, runs, "run", shown) as progress:
        yield progress


@contextmanager
def waiting(label: str, *, shown: bool = True) -> Iterator[None]:
    """Shows the seconds that something takes. It leaves nothing behind, and shows nothing in a log file."""
    if not (shown and _is_watched()):
        yield
        return
    started = time.monotonic()

    def show() -> None:
        print(f"\r{label}... {time.monotonic() - started:.1f} s", end="", file=sys.stderr, flush=True)

    try:
        with _every(_REFRESH_SECONDS, show):
            yield
    finally:
        print("\r" + " " * (len(label) + 16), end="\r", file=sys.stderr, flush=True)


class _Rounds:
    """The callback of `progress_bar`."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self.compiling = progress, progress.compiling

    def __call__(self, report: Report) -> None:
        self._progress.to(report.completed, "" if report.evaluation is None else str(score(report.evaluation)))


@contextmanager
def _opened(label: str, total: int, unit: str, shown: bool) -> Iterator[Progress]:
    kind = (_Bar if _is_watched() else _Lines) if shown else None
    progress = Progress() if kind is None else kind(label, total, unit)
    try:
        yield progress
    finally:
        progress.close()


def _is_watched() -> bool:
    """Whether standard error is a terminal or the output of a notebook's cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or hasattr(shell, "kernel")


@contextmanager
def _every(seconds: float, call) -> Iterator[None]:
    """Calls a function again and again in a thread, which ends with the block, however the block ends."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            call()

    thread = threading.Thread(target=repeat, name="fedcos progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _Bar(Progress):
    """A bar that is drawn again and again: tqdm's, which is a widget in a notebook that has widgets."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without widgets gets tqdm's bar of text
            from tqdm.auto import tqdm
        self._label, self._unit, self._compiling_since = label, unit, 0.0
        self._bar = tqdm(total=total, desc=label, unit=unit, file=sys.stderr, dynamic_ncols=True)
        self._lock = threading.RLock()
        self._ticking = _every(_REFRESH_SECONDS, self._refresh)
        self._ticking.__enter__()

    def to(self, done: int, note: str = "") -> None:
        with self._lock:
            super().to(done, note)
            self._bar.set_postfix_str(self.note, refresh=False)
            self._bar.update(done - self._bar.n)

    def _refresh(self) -> None:
        with self._lock:
            if self._compiling_since:
                seconds = time.monotonic() - self._compiling_since
                self._bar.set_postfix_str(f"compiling... {seconds:.1f} s", refresh=False)
            self._bar.refresh()

    @contextmanager
    def compiling(self, done: int) -> Iterator[None]:
        if done:
            self._bar.write(_resumed(self._label, self._unit, done), file=sys.stderr)
        self._restart(done, compiling_since=time.monotonic())
        try:
            yield
        finally:
            self._restart(done, compiling_since=0.0)

    def _restart(self, done: int, compiling_since: float) -> None:
        """Counts time and speed from now on."""
        with self._lock:
            self._compiling_since = compiling_since
            self._bar.set_postfix_str(self.note, refresh=False)
            self._bar.reset()
            self._bar.initial = self._bar.n = self._bar.last_print_n = done
            self._bar.refresh()

    def close(self) -> None:
        self._ticking.__exit__(None, None, None)
        self._bar.leave = bool(self.done)
        self._bar.close()


class _Lines(Progress):
    """A line now and then, without control characters."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._start(0)

    def _start(self, done: int) -> None:
        self._first = self._written = done
        self._started = self._written_at = time.monotonic()

    def to(self, done: int, note: str = "") -> None:
        super().to(done, note)
        seconds = time.monotonic() - self._written_at
        if seconds >= _SILENT_SECONDS or (
            seconds >= _LINE_SECONDS and 10 * (done - self._written) >= self._total and done < self._total
        ):
            self._write()

    def _write(self) -> None:
        self._written, self._written_at = self.done, time.monotonic()
        seconds, count = self._written_at - self._started, max(1, self.done - self._first)
        speed = f"{count / seconds:.3g} {self._unit}s/s" if seconds < count else f"{seconds / count:.3g} s/{self._unit}"
        left = f"{seconds / count * (self._total - self.done):.0f} s left" if self.done < self._total else ""
        where = f"{self._label}: {self._unit} {self.done}/{self._total}"
        print(*filter(None, (where, self.note, speed, left)), sep=", ", file=sys.stderr, flush=True)

    @contextmanager
    def compiling(self, done: int) -> Iterator[None]:
        if done:
            print(_resumed(self._label, self._unit, done), file=sys.stderr, flush=True)
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        if seconds >= 1:
            print(f"{self._label}: compiled in {seconds:.1f} s", file=sys.stderr, flush=True)
        self._start(done)

    def close(self) -> None:
        if self.done > self._written:
            self._write()


def _resumed(label: str, unit: str, done: int) -> str:
    return f"{label}: resumed at {unit} {done}"
