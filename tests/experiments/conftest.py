"""What the tests of the experiments share."""

import dataclasses
from pathlib import Path

import jax
import pytest

from experiments import reproduce
from experiments.tables import TABLES

COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


@pytest.fixture(scope="session")
def programs() -> list[str]:
    """The names of the functions compiled so far. The list grows.

    The cache size of a jitted function would not do: on several devices it also counts the places of its arguments.
    """
    names: list[str] = []

    def listen(event: str, seconds: float, **details: str) -> None:
        if event == COMPILE_EVENT:
            names.append(details["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    return names


@pytest.fixture(scope="session", autouse=True)
def short_quick_table():
    """The quick Table II in fewer rounds and steps. What the tests see does not depend on how long it is."""
    table = TABLES["table2"]
    quick = table.profiles["quick"]
    short = quick._replace(config=dataclasses.replace(quick.config, rounds=4, local_steps=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.profiles, "quick", short)
        yield


@pytest.fixture(scope="session")
def ran(tmp_path_factory, programs) -> Path:
    """Results of the quick Table II: two methods in two settings with two seeds. Tests must not change them."""
    folder = tmp_path_factory.mktemp("results")
    jax.clear_caches()
    before = programs.count("jit(segment)")
    arguments = ["table2", "--results-dir", str(folder), "--methods", "FedAvg", "fedopt(1.5)+fedcos(0.02)", "--quiet"]
    assert reproduce.main([*arguments, "--settings", "sorted", "iid", "--seeds", "2"]) == 0
    assert programs.count("jit(segment)") == before + 1
    return folder


@pytest.fixture
def compiled_quickly():
    """Programs that run only once take longer to optimize than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
