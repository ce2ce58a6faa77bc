"""A shell that has read the script completes flags, names and files."""

import shutil
import subprocess

import pytest

from fedcos_jax.cli import main as fedcos

pytest.importorskip("shtab")


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "fedcos.bash"
    parser = fedcos.parser()
    path.write_text(fedcos.completion.script(parser, "bash"))
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("sw", ["sweep"]),
        ("run --target", ["--target-accuracy"]),
        ("run --method fedp", ["fedprox"]),
        ("run --dataset cif", ["cifar10", "cifar100"]),
        ("sweep --partition shards", ["shards2"]),
        ("completion ba", ["bash"]),
    ],
)
def test_bash(script, words, completions):
    lines = [
        f"source {script}",
        f"COMP_WORDS=(fedcos {words})",
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))",
        "_shtab_fedcos",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == completions


@pytest.mark.parametrize(("shell", "first"), [("zsh", "#compdef fedcos"), ("bash", "# AUTOMATICALLY GENERATED")])
def test_the_command_prints_the_script(capsys, shell, first):
    assert fedcos.main(["completion", shell]) == 0
    assert capsys.readouterr().out.startswith(first)


def test_without_shtab(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert fedcos.main(["completion", "bash"]) == 2
    assert "fedcos completion needs shtab, which is not installed: pip install shtab" in capsys.readouterr().err
