"""Forms on disk: the first complete one, where it may lie, and what is missing from an incomplete one."""

import numpy as np
import pytest

from fedcos_jax import InputError
from fedcos_jax.data.formats.forms import Form, find

FORMS = (
    Form("pair", ("a", "b"), lambda folder: {"x": np.arange(2)}, places=("elsewhere",)),
    Form("single", ("c",), lambda folder: {"x": np.arange(3)}),
)


def touch(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_the_first_complete_form_is_found(tmp_path):
    touch(tmp_path, "a", "c")
    assert find("name", FORMS, tmp_path).form.summary == "single"
    touch(tmp_path, "b")
    found = find("name", FORMS, tmp_path)
    assert (found.form.summary, found.paths) == ("pair", [tmp_path / "a", tmp_path / "b"])
    np.testing.assert_array_equal(found.read()["x"], np.arange(2))


@pytest.mark.parametrize("place", ["name", ".", "elsewhere"])
def test_a_form_may_lie_in_several_folders(tmp_path, place):
    touch(tmp_path / place, "a", "b")
    assert find("name", FORMS, tmp_path).folder == tmp_path / place


def test_an_absolute_place_needs_no_data_directory(tmp_path):
    touch(tmp_path / "absolute", "a", "b")
    absolute = FORMS[0]._replace(places=(str(tmp_path / "absolute"),))
    assert find("name", [absolute], None).folder == tmp_path / "absolute"
    assert find("name", FORMS, None) is None


def test_nothing_is_no_mistake_but_half_a_form_is(tmp_path):
    assert find("name", FORMS, tmp_path) is None
    touch(tmp_path / "name", "b")
    with pytest.raises(InputError, match=r"name is incomplete: a is missing from its pair"):
        find("name", FORMS, tmp_path)
