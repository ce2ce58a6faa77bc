"""Progress ticks on a terminal, is a few plain lines elsewhere, and leaves no thread behind."""

import io
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from fedcos_jax.engine import progress
from fedcos_jax.engine.evaluation import Evaluation
from fedcos_jax.engine.progress import progress_bar, runs_bar, waiting


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=screen, modules={}))
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.01)
    return screen


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test says so."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "fedcos progress"]


def report(completed, accuracy=None):
    evaluation = None if accuracy is None else Evaluation(np.float32(1), {"accuracy": np.float32(accuracy)}, {})
    return SimpleNamespace(completed=completed, evaluation=evaluation)


def drawn(screen):
    return [part.strip() for part in screen.getvalue().split("\r")]


def test_the_bar_moves_between_evaluations(screen):
    with progress_bar("FedCos(0.02)", 4) as advance:
        for one in (report(1), report(2, 0.5), report(3), report(4, 0.75)):
            advance(one)
    shown = drawn(screen)
    assert "4/4" in shown[-1]
    assert "FedCos(0.02)" in shown[-1]
    assert "accuracy 75.00%" in shown[-1]


def test_seconds_tick_while_the_run_compiles(screen):
    with progress_bar("FedAvg", 4) as advance:
        with advance.compiling(0):
            time.sleep(0.25)
        advance(report(1, 0.5))
    shown = drawn(screen)
    assert any("compiling... 0.1 s" in one for one in shown)
    assert any("compiling... 0.2 s" in one for one in shown)
    assert "compiling" not in shown[-1]
    assert "1/4" in shown[-1]
    assert "accuracy 50.00%" in shown[-1]


def test_a_bar_that_goes_on_says_where(screen):
    with progress_bar("FedAvg", 400) as advance:
        for completed in (100, 230):
            advance(report(completed, 0.5))
        with advance.compiling(230):
            pass
        assert "230/400" in drawn(screen)[-1]
        advance(report(231))
    assert "FedAvg: resumed at round 230\n" in screen.getvalue()
    assert "231/400" in drawn(screen)[-1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_no_thread_outlives_its_bar(screen, error):
    counts = []

    def fail():
        counts.append(len(threads()))
        raise error

    with pytest.raises(error), progress_bar("FedAvg", 4) as advance, advance.compiling(0):
        fail()
    with pytest.raises(error), waiting("estimating"):
        fail()
    assert counts == [1, 1]
    assert threads() == []


def test_what_takes_a_while_shows_its_seconds_and_leaves_nothing(screen):
    with waiting("estimating"):
        time.sleep(0.15)
    assert "estimating... 0.1 s" in drawn(screen)
    assert drawn(screen)[-2:] == ["", ""]


def test_a_log_has_sparse_lines_without_control_characters(capsys, clock):
    with progress_bar("FedAvg", 100) as advance:
        with advance.compiling(0):
            clock.now += 3.2
        for completed in range(1, 101):
            clock.now += 1
            advance(report(completed, completed / 100))
    assert capsys.readouterr().err.splitlines() == [
        "FedAvg: compiled in 3.2 s",
        *(f"FedAvg: round {n}/100, accuracy {n}.00%, 1 s/round, {100 - n} s left" for n in range(10, 100, 10)),
        "FedAvg: round 100/100, accuracy 100.00%, 1 s/round",
    ]


def test_a_log_of_slow_rounds_does_not_fall_silent(capsys, clock):
    with progress_bar("FedAvg", 1000) as advance:
        for completed in (1, 2, 3):
            clock.now += 200
            advance(report(completed))
    assert capsys.readouterr().err.splitlines() == [
        "FedAvg: round 2/1000, 200 s/round, 199600 s left",
        "FedAvg: round 3/1000, 200 s/round, 199400 s left",
    ]


def test_a_log_of_a_resumed_run_counts_from_there(capsys, clock):
    with progress_bar("FedAvg", 100) as advance:
        advance(report(90, 0.5))
        with advance.compiling(90):
            pass
        clock.now += 5
        advance(report(100))
    assert capsys.readouterr().err.splitlines() == [
        "FedAvg: resumed at round 90",
        "FedAvg: round 100/100, accuracy 50.00%, 2 rounds/s",
    ]


def test_runs_of_a_sweep(capsys, clock):
    with runs_bar("sweep", 3) as bar:
        clock.now += 6
        bar.update(2)
    assert capsys.readouterr().err == "sweep: run 2/3, 3 s/run, 3 s left\n"


def test_nothing_is_shown_when_it_should_be_quiet(capsys):
    with progress_bar("FedAvg", 2, shown=False) as advance:
        with advance.compiling(1):
            pass
        advance(report(2, 0.5))
    with runs_bar("sweep", 3, shown=False) as bar:
        bar.update(3)
    with waiting("estimating", shown=False):
        pass
    assert capsys.readouterr().err == ""
    assert threads() == []
