"""Flags and config files: which one wins, and what is refused."""

import pytest

from fedcos_jax.cli import flags
from fedcos_jax.cli import main as fedcos
from fedcos_jax.errors import InputError
from fedcos_jax.labels import FLAGS, METHODS, WRAPPERS, Options


def resolve(*arguments):
    return flags.resolve(fedcos.parser().parse_args(["run", *arguments]))


def test_flags_win_over_the_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('method = "FedAvgM"\nserver_momentum = 0.7\nmomentum = 0.9\ndamped_momentum = true\nquiet = true\n')
    config, files = resolve("--config", str(path))
    assert (config.method, config.momentum, config.damped_momentum, files.quiet) == ("FedAvgM(0.7)", 0.9, True, True)
    given = ["--server-momentum", "0.2", "--momentum", "none", "--no-damped-momentum", "--no-quiet"]
    config, files = resolve("--config", str(path), *given)
    assert (config.method, config.momentum, config.damped_momentum, files.quiet) == ("FedAvgM(0.2)", None, False, False)
    assert resolve("--config", str(path), "--method", "FedProx")[0].method == "FedProx(0.1)"
    path.write_text("cos_strength = 0.5\nlocal_epochs = 2\n")
    config, _ = resolve("--config", str(path), "--method", "FedCos(0.01)", "--local-steps", "3")
    assert (config.method, config.local_epochs, config.local_steps) == ("FedCos(0.01)", None, 3)


def test_every_flag_is_a_key(tmp_path):
    options = vars(fedcos.parser().parse_args(["run"]))
    assert set(flags.keys()) == set(options) - {"command", "config", "dry_run"}


def test_every_number_of_a_method_can_be_a_flag():
    for name, (term, label, parameter) in FLAGS.items():
        config, _ = resolve("--method", "FedAvg" if term in WRAPPERS else label, flags.flag(name), "0.25")
        assert config.method == f"{label}(0.25)", parameter


def test_options_belong_to_methods():
    assert set(flags.OPTIONS_OF) == set(Options._fields) - {"uniform_weights"}
    assert set(flags.OPTIONS_OF.values()) <= {entry.label for entry in (METHODS | WRAPPERS).values()}


def test_a_number_is_not_given_twice():
    with pytest.raises(InputError, match="the number of FedCos is given twice: by the method and by --cos-strength"):
        resolve("--method", "FedOpt+FedCos(0.1)", "--cos-strength", "0.2")
