"""The one value that describes a run."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fedcos_jax import fedavg, fedcos, fedprox
from fedcos_jax.engine.experiment import as_arrays
from fedcos_jax.errors import InputError
from tests.problems import small_experiment


def test_a_replaced_part_is_checked_anew():
    experiment = small_experiment(cohort=3)
    assert experiment.replace(method=fedcos(0.1)).federation.shapes == experiment.federation.shapes
    longer = experiment.replace(schedule=dataclasses.replace(experiment.schedule, cohort=2))
    assert longer.federation.shapes.cohort == 2
    with pytest.raises(InputError, match="5 clients per round are more"):
        experiment.replace(schedule=dataclasses.replace(experiment.schedule, cohort=5))


def test_a_federation_is_a_tree_of_arrays():
    federation = small_experiment(fedprox(1)).federation
    leaves, structure = jax.tree.flatten(federation)
    assert all(hasattr(leaf, "dtype") for leaf in leaves)
    assert jax.tree.unflatten(structure, leaves).shapes == federation.shapes
    assert jax.jit(lambda f: f.data.sizes.sum())(federation) == 26


def test_numbers_of_any_kind_have_one_type():
    kinds = [fedprox(1), fedprox(1.0), fedprox(np.float64(1)), fedprox(jnp.ones(()))]
    dtypes = {leaf.dtype for kind in kinds for leaf in jax.tree.leaves(as_arrays(kind))}
    assert dtypes == {jnp.dtype(jnp.float32)}
    assert len({jax.tree.structure(as_arrays(kind)) for kind in kinds}) == 1


def test_text_is_not_a_number():
    with pytest.raises(InputError, match=r"'0\.1' cannot be a number"):
        small_experiment(fedavg()._replace(weights=jax.tree_util.Partial(lambda *_: None, "0.1")))


def test_a_transformation_of_optax_must_be_inside_a_function():
    with pytest.raises(InputError, match=r"optimizer=lambda round, client: optax.adam\(0.01\)"):
        small_experiment(optimizer=optax.adam(0.01))
    with pytest.raises(InputError, match=r"server=lambda: optax.adam\(0.01\)"):
        small_experiment(fedavg()._replace(server=optax.sgd(1.0)))
    small_experiment(optimizer=lambda *of: optax.adam(0.01))
