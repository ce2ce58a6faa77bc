"""Mistakes become one line that says what was wrong and what is allowed."""

import jax
import pytest

from fedcos_jax.errors import InputError, did_you_mean, require, require_at_least, require_known, require_package


def test_require():
    require(True, "fine")
    with pytest.raises(InputError, match="not fine"):
        require(False, "not fine")


def test_the_nearest_name_is_suggested():
    with pytest.raises(InputError) as error:
        require_known("fedcoz", ["fedavg", "fedcos"], "method")
    assert str(error.value) == "unknown method 'fedcoz'; did you mean 'fedcos'? (one of: fedavg, fedcos)"
    assert did_you_mean("xyz", ["fedavg"]) == ""


def test_dashes_do_not_make_flags_near():
    assert did_you_mean("--gpu", ["--out", "--lr"]) == ""
    assert did_you_mean("--methd", ["--out", "--method"]) == "; did you mean '--method'?"


def test_a_missing_package_is_named():
    require_package("numpy", "everything")
    with pytest.raises(InputError, match="--x needs no_such_package, which is not installed: pip install that-one"):
        require_package("no_such_package", "--x", install="that-one")


@pytest.mark.parametrize("number", [0, 0.5, float("nan"), float("inf"), -float("inf")])
def test_numbers_below_the_minimum(number):
    with pytest.raises(InputError, match="rounds must be at least 1"):
        require_at_least(1, seeds=3, rounds=number)


def test_traced_numbers_pass():
    jax.jit(lambda x: require_at_least(1, x=x) or x)(0.0)
