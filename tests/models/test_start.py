"""Models that start from given parameters: they fit or are refused, and equal ones share programs."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import Model, client_sgd, models, run, started_from
from fedcos_jax.engine.loop import compiled_programs
from fedcos_jax.errors import InputError
from fedcos_jax.models import checksum
from fedcos_jax.models.start import fitted
from tests.problems import SOFTMAX_REGRESSION, small_experiment

KEY = jax.random.key(0)
MLP = models.build("mlp", (4, 4), 3)


def changed(**leaves):
    params = jax.device_get(MLP.init(KEY))
    return params | {"Dense_1": params["Dense_1"] | leaves}


def test_a_run_starts_from_the_parameters_whatever_its_key():
    params = {"b": jnp.arange(3.0), "w": jnp.ones((5, 3))}
    model = started_from(SOFTMAX_REGRESSION, params)
    for seed in (0, 1):
        chex.assert_trees_all_equal(model.init(jax.random.key(seed)), params)
    idle = small_experiment(model=model, optimizer=client_sgd(0.0))
    state, _ = run(KEY, idle)
    chex.assert_trees_all_equal(state.params, params)


def test_two_runs_in_a_row_are_further_training():
    """The second run starts where the first one ended."""
    first, _ = run(KEY, small_experiment(rounds=2))
    start = jax.device_get(first.params)
    _, history = run(KEY, small_experiment(model=started_from(SOFTMAX_REGRESSION, start), rounds=2))
    _, afresh = run(KEY, small_experiment(rounds=2))
    assert history.rounds.train_loss[0] < afresh.rounds.train_loss[0]


def test_equal_parameters_make_equal_models_that_share_a_program():
    params = {"b": np.ones(3, np.float32), "w": np.ones((5, 3), np.float32)}
    one, same = (started_from(SOFTMAX_REGRESSION, jax.tree.map(np.copy, params)) for _ in range(2))
    other = started_from(SOFTMAX_REGRESSION, params | {"b": np.zeros(3)})
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    run(KEY, small_experiment(model=one))
    before = compiled_programs()
    run(KEY, small_experiment(model=same))
    assert compiled_programs() == before


def test_parameters_take_the_types_and_the_structure_of_the_model():
    model = Model(lambda key: [jnp.zeros(2, jnp.bfloat16), (jnp.zeros((), jnp.float32),)], lambda params, x, key: x)
    params = fitted({"0": np.array([1.0, 2.0]), "1": {"0": np.array(3.0)}}, model)
    assert jax.tree.structure(params) == jax.tree.structure(model.init(KEY))
    assert [leaf.dtype for leaf in jax.tree.leaves(params)] == [jnp.bfloat16, np.float32]
    assert [leaf.tolist() for leaf in jax.tree.leaves(params)] == [[1.0, 2.0], 3.0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "it has no Dense_0.bias; it has no Dense_0.kernel; it has no Dense_1.bias; and 1 more"),
        (changed(scale=np.ones(3)), "the model has no Dense_1.scale"),
        (changed(bias=np.ones(4)), r"Dense_1.bias has the shape \[4\] instead of \[3\]"),
        (changed(bias=np.ones(3, int)), "Dense_1.bias has the type int64 instead of float32"),
    ],
)
def test_parameters_of_another_model_are_refused(params, message):
    with pytest.raises(InputError, match=f"^the parameters cannot be used for this model: {message}$"):
        started_from(MLP, params)


def test_the_checksum_is_of_names_types_shapes_and_values():
    params = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros(2)}
    others = [
        {"a": params["a"], "c": params["b"]},
        params | {"b": np.zeros(2, np.float32)},
        params | {"a": params["a"].reshape(3, 2)},
        params | {"b": np.array([0, 1e-9])},
    ]
    sums = [checksum(other) for other in (params, *others)]
    assert len(set(sums)) == len(sums)
    assert checksum({"b": params["b"], "a": np.asfortranarray(params["a"])}) == sums[0]
