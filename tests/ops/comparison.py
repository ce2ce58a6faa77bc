"""Two forms of one function compared, in value and gradient."""

import jax
import jax.numpy as jnp
import numpy as np


def quick_jit(function):
    """Compiles in a fraction of the time, to a slower program."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def value_and_gradients(f, x, kernel):
    """The value of f, and the gradients of a generic function of it."""

    def generic(x, kernel):
        y = f(x, kernel)
        return jnp.sum(jnp.ravel(jnp.sin(y)) * jnp.cos(jnp.arange(y.size, dtype=y.dtype))), y

    (_, y), gradients = quick_jit(jax.value_and_grad(generic, argnums=(0, 1), has_aux=True))(x, kernel)
    return y, *gradients


def assert_equal_forms(ours, theirs, x, kernel, tolerance=1e-5):
    """Values and gradients agree, to a tolerance of their scale."""
    for got, expected in zip(value_and_gradients(ours, x, kernel), value_and_gradients(theirs, x, kernel), strict=True):
        assert got.shape == expected.shape
        scale = float(jnp.abs(expected).max()) + 1e-30
        np.testing.assert_allclose(np.asarray(got) / scale, np.asarray(expected) / scale, atol=tolerance)
