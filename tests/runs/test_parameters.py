"""Parameters in files: what is written is what is read, here and elsewhere, and nothing else is taken for it."""

import json

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import fedcos_jax as fc
from fedcos_jax import models
from fedcos_jax.errors import InputError
from fedcos_jax.runs import parameters
from fedcos_jax.runs.parameters import Latest, load_params, save_params
from tests.problems import SOFTMAX_REGRESSION, small_experiment

MLP = models.build("mlp", (4, 4), 3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def packed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_a_file_holds_the_parameters_of_a_run(path):
    state, _ = fc.run(jax.random.key(0), small_experiment())
    fc.save_params(path, state.params, {"rounds": 3})
    chex.assert_trees_all_equal(fc.load_params(path), jax.device_get(state.params))
    chex.assert_trees_all_equal(fc.load_params(path, SOFTMAX_REGRESSION), jax.device_get(state.params))
    assert parameters.read(path).about == {"rounds": 3}
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_others_read_it(path):
    params = MLP.init(jax.random.key(0))
    save_params(path, params)
    arrays = safetensors.numpy.load_file(path)
    assert sorted(arrays) == ["Dense_0.bias", "Dense_0.kernel", "Dense_1.bias", "Dense_1.kernel"]
    np.testing.assert_array_equal(arrays["Dense_0.kernel"], params["Dense_0"]["kernel"])


def test_pytorch_reads_it(path):
    pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")
    from safetensors.torch import load_file

    params = MLP.init(jax.random.key(0)) | {"half": jnp.ones(2, jnp.bfloat16)}
    save_params(path, params)
    tensors = load_file(path)
    assert str(tensors["half"].dtype) == "torch.bfloat16"
    np.testing.assert_array_equal(tensors["Dense_0.kernel"].numpy(), params["Dense_0"]["kernel"])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int8", "uint32", "bool"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_types_and_shapes_survive(path, dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(jnp.dtype(dtype))
    save_params(path, {"layer": [array, array.T]})
    found = load_params(path)["layer"]
    chex.assert_trees_all_equal([found["0"], found["1"]], [array, array.T])
    assert found["0"].dtype == array.dtype
    assert found["1"].shape == array.T.shape


def test_double_precision_survives(x64, path):
    params = {"w": jnp.asarray(np.pi * np.ones((5, 3))), "b": jnp.zeros(3)}
    save_params(path, params)
    found = load_params(path, SOFTMAX_REGRESSION)
    assert found["w"].dtype == np.float64
    assert found["w"][0, 0] == np.pi


def test_a_bare_array_and_names_with_dots(path):
    save_params(path, jnp.arange(3))
    model = fc.Model(lambda key: jnp.zeros(3, jnp.int32), lambda params, x, key: x)
    assert load_params(path, model).tolist() == [0, 1, 2]
    dotted = {"a": np.ones(1, np.float32), "a.b": np.zeros(2, np.float32)}
    save_params(path, dotted)
    chex.assert_trees_all_equal(load_params(path, fc.Model(lambda key: dotted, lambda params, x, key: x)), dotted)
    with pytest.raises(InputError, match=r"model.safetensors has a parameter inside another one: a"):
        load_params(path)


def test_equal_parameters_make_equal_files(path):
    about = {"rounds": 3, "dataset": "digits", "config": {"lr": 0.1}}
    save_params(path, MLP.init(jax.random.key(0)), about)
    before = path.read_bytes()
    save_params(path, dict(reversed(MLP.init(jax.random.key(0)).items())), about)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "there are no parameters"),
        ({"a": np.ones(2, np.complex64)}, "a has the type complex64"),
        ({"a": np.array([None])}, "a has the type object"),
        ({"a.b": np.ones(1), "a": {"b": np.ones(1)}}, "two parameters have the same name"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(path, params, message):
    with pytest.raises(InputError, match=message):
        save_params(path, params)
    assert not list(path.parent.iterdir())


def test_a_file_says_what_it_is(tmp_path):
    with pytest.raises(InputError, match=r"written as .safetensors, so .*model.pt needs a name like model.safetensors"):
        save_params(tmp_path / "model.pt", {"a": np.ones(1)})
    with pytest.raises(InputError, match=r"model.safetensors holds parameters, not a dataset: fc.load_params reads it"):
        fc.load("model.safetensors")


WHOLE = safetensors.numpy.save({"a": np.ones(4, np.float32)})
BROKEN = {
    "empty": (b"", "not a whole .safetensors file"),
    "truncated": (WHOLE[:-1], "not a whole .safetensors file"),
    "too long": (WHOLE + b"\0", "not a whole .safetensors file"),
    "a pickle": (b"\x80\x04\x95" + bytes(40), "not a whole .safetensors file"),
    "a huge header": (b"\xff" * 8 + b"{}", "not a whole .safetensors file"),
    "no JSON": (packed(b"{" * 30), "not a whole .safetensors file"),
    "a huge shape": (
        packed({"a": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 4]}}, bytes(4)),
        "not a whole .safetensors file",
    ),
    "overlapping": (
        packed({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for name in "ab"}, bytes(4)),
        "not a whole .safetensors file",
    ),
    "nothing": (packed({}), "holds no parameters"),
    "an exotic type": (
        packed({"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, bytes(4)),
        "holds a of type F8_E4M3, which cannot be read here",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_in_one_line(path, case):
    content, message = BROKEN[case]
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as refused:
        load_params(path)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_what_is_no_file_is_refused(path):
    with pytest.raises(InputError, match=r"cannot read .*model.safetensors: No such file"):
        load_params(path)
    with pytest.raises(InputError, match="it is a folder"):
        load_params(path.parent)


@pytest.mark.parametrize("text", ["no JSON", "[" * 100_000, "3", ""])
def test_what_others_say_about_parameters_is_no_harm(path, text):
    path.write_bytes(safetensors.numpy.save({"a": np.ones(1)}, {parameters.KEY: text}))
    assert parameters.read(path).about == {}


def test_the_latest_parameters_are_those_of_the_end():
    latest = Latest()
    state, _ = fc.run(jax.random.key(0), small_experiment(rounds=4), callbacks=[latest, fc.stop_at(accuracy=0.0)])
    chex.assert_trees_all_equal(latest.params, state.params)
