"""Colour only where a terminal shows it."""

import io

import pytest

from fedcos_jax.cli.colour import bold, red


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_terminal_gets_colour():
    assert red("error:", Terminal()) == "\x1b[31merror:\x1b[0m"
    assert bold("93.33%", Terminal()) == "\x1b[1m93.33%\x1b[0m"


def test_a_file_gets_plain_text():
    assert red("error:", io.StringIO()) == "error:"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_user_can_refuse_colour(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert red("error:", Terminal()) == "error:"
