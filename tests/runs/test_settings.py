"""Settings as text and TOML, and what depends on them."""

import dataclasses
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcos_jax.errors import InputError
from fedcos_jax.runs import settings
from fedcos_jax.runs.config import Config

values = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), values | st.text()))
def test_toml_reads_as_it_was_written(written):
    given = {name: value for name, value in written.items() if value is not None}
    assert tomllib.loads(settings.to_toml(written)) == given


def test_every_config_field_has_one_kind():
    kinds = [settings.of_kind(Config, kind) for kind in ("shape", "number", "machine")]
    assert sorted(name for names in kinds for name in names) == sorted(settings.declared(Config))
    assert settings.of_kind(Config, "machine") == ("start_from", "chunk", "devices")


def test_text_becomes_the_type_of_its_setting():
    texts = {"rounds": "3", "lr": "0.5", "augment": "False", "momentum": "none", "method": "FedAvg"}
    read = {"rounds": 3, "lr": 0.5, "augment": False, "momentum": None, "method": "FedAvg"}
    assert settings.from_text(Config, texts) == read
    with pytest.raises(InputError, match=r"rounds must be a whole number, got '2\.5'"):
        settings.from_text(Config, {"rounds": "2.5"})
    with pytest.raises(InputError, match="unknown setting 'foo'"):
        settings.from_text(Config, {"foo": "1"})


def test_a_written_config_reads_as_itself(tmp_path):
    config = Config(method="FedOpt(1.5)+FedCos(0.02)", lr=1e-7, local_epochs=2)
    path = tmp_path / "config.toml"
    path.write_text(settings.to_toml(dataclasses.asdict(config)), encoding="utf-8")
    texts = settings.read_file(path, settings.declared(Config))
    assert Config(**settings.from_text(Config, texts)) == config


def test_differences_are_named():
    assert settings.differences({"lr": 0.1, "seed": 0}, {"lr": 0.2, "seed": 0, "new": 1}) == "lr 0.1 instead of 0.2"
