"""What the tests of the experiments share."""

import jax
import pytest

COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


@pytest.fixture(scope="session")
def programs() -> list[str]:
    """The names of the functions compiled so far; it grows.

    The cache size of a jitted function would not do: on several devices it also counts the places of its arguments.
    """
    names: list[str] = []

    def listen(event: str, seconds: float, **details: str) -> None:
        if event == COMPILE_EVENT:
            names.append(details["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    return names
