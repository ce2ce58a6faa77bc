"""The test set is counted row by row, whatever the batch and the devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fedcos_jax import Model, devices
from fedcos_jax.engine.evaluation import evaluate
from fedcos_jax.types import Examples
from tests.problems import gaussian_data, small_experiment

OUTPUTS_ARE_INPUTS = Model(init=lambda key: jnp.zeros(1), apply=lambda params, x, key: x)


def evaluated(params, test, batch, count=1):
    data = gaussian_data()._replace(test=test)
    placement = devices.available(count)
    federation = small_experiment(model=OUTPUTS_ARE_INPUTS, data=data, eval_batch=batch, placement=placement).federation
    on_each = placement.on_each(lambda params: evaluate(params, federation), devices.SAME, devices.SAME)
    return jax.jit(on_each)(params)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("batch", [10, 103, 1000])
def test_every_row_counts_once(batch, count):
    rng = np.random.default_rng(0)
    outputs, labels = rng.normal(size=(103, 4)).astype(np.float32), rng.integers(0, 4, 103).astype(np.int32)
    shifted = outputs - outputs.max(1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    result = evaluated(jnp.zeros(1), Examples(jnp.asarray(outputs), jnp.asarray(labels)), batch, count)
    assert float(result.accuracy) == pytest.approx((outputs.argmax(1) == labels).mean())
    assert float(result.loss) == pytest.approx(-log_probabilities[np.arange(103), labels].mean(), rel=1e-5)


def test_small_floats_count_many_rows():
    """In bfloat16 itself 256 + 1 is 256."""
    rows = 1000
    test = Examples(jnp.eye(2)[np.zeros(rows, int)], jnp.asarray(np.arange(rows) % 10 == 0, jnp.int32))
    assert float(evaluated(jnp.zeros(1, jnp.bfloat16), test, 50).accuracy) == pytest.approx(0.9)
