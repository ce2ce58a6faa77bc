"""Networks of other libraries as models: they train, draw noise from the key of the step, and fail in one line."""

import logging

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from fedcos_jax import InputError, fedavg, from_equinox, from_flax, from_functions, from_nnx, simulate
from tests.problems import FEATURES, small_experiment

KEY, OTHER = jax.random.key(0), jax.random.key(1)
SHAPE = (FEATURES,)


class Linen(nn.Module):
    norm: bool = False

    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(4)(x)
        x = nn.BatchNorm(use_running_average=not train)(x) if self.norm else x
        return nn.Dense(3)(nn.Dropout(0.5, deterministic=not train)(x))


class Deterministic(nn.Module):
    @nn.compact
    def __call__(self, x, *, deterministic=True):
        return nn.Dense(3)(nn.Dropout(0.5)(x, deterministic))


class WithoutTrain(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)


class Nnx(nnx.Module):
    def __init__(self, rngs, norm=False):
        self.layers = nnx.List([nnx.Linear(FEATURES, 4, rngs=rngs), nnx.Linear(4, 3, rngs=rngs)])
        self.norm = nnx.BatchNorm(4, rngs=rngs) if norm else None
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        x = self.layers[0](x)
        x = self.norm(x) if self.norm is not None else x
        return self.layers[1](self.dropout(x))


class Equinox(eqx.Module):
    first: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    last: eqx.nn.Linear
    name: str = "a static field"

    def __init__(self, key):
        self.first = eqx.nn.Linear(FEATURES, 4, key=key)
        self.dropout = eqx.nn.Dropout(0.5)
        self.last = eqx.nn.Linear(4, 3, key=key)

    def __call__(self, x, *, key=None):
        return self.last(self.dropout(self.first(x), key=key))


def plain_init(key, x, is_training):
    return {"w": jax.random.normal(key, (x.shape[-1], 3))}


def plain_apply(params, key, x, is_training):
    keep = jax.random.bernoulli(key, 0.5, x.shape) if is_training else jnp.ones(x.shape, bool)
    return jnp.where(keep, x, 0) @ params["w"]


NETWORKS = {
    "flax": lambda: from_flax(Linen(), SHAPE),
    "flax, deterministic": lambda: from_flax(Deterministic(), SHAPE),
    "flax, batch norm": lambda: from_flax(Linen(norm=True), SHAPE, batch_norm="local"),
    "nnx": lambda: from_nnx(Nnx, SHAPE),
    "nnx, batch norm": lambda: from_nnx(lambda rngs: Nnx(rngs, norm=True), SHAPE, batch_norm="local"),
    "equinox": lambda: from_equinox(Equinox, SHAPE),
    "functions": lambda: from_functions(plain_init, plain_apply, SHAPE, train="is_training"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_train_and_draw_noise_from_the_key(name):
    model, x = NETWORKS[name](), jax.random.normal(KEY, (6, FEATURES))
    params = model.init(KEY)
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(model.init(OTHER)), strict=True)
    assert not all(np.array_equal(*pair) for pair in pairs)
    apply = jax.jit(model.apply)
    assert model.apply(params, x, None).shape == (6, 3)
    np.testing.assert_array_equal(apply(params, x, KEY), apply(params, x, KEY))
    assert not np.array_equal(apply(params, x, KEY), apply(params, x, OTHER))

    experiment = small_experiment(fedavg(), model=model, batch_size=4)
    state, history = simulate(KEY, experiment)
    assert np.isfinite(history.rounds.train_loss).all()
    assert all(history.rounds.global_move > 0)
    assert jax.tree.structure(state.params) == jax.tree.structure(params)


def test_outputs_are_those_of_the_libraries():
    x = jax.random.normal(KEY, (2, FEATURES))
    module = Nnx(nnx.Rngs(3))
    model = from_nnx(module, SHAPE)
    module.eval()
    np.testing.assert_array_equal(model.apply(model.init(KEY), x, None), module(x))
    module = Equinox(OTHER)
    model = from_equinox(module, SHAPE)
    expected = jax.vmap(eqx.nn.inference_mode(module))(x)
    np.testing.assert_array_equal(model.apply(model.init(KEY), x, None), expected)
    np.testing.assert_array_equal(model.init(KEY)[".last.weight"], module.last.weight)


def test_batches_are_normalised_by_themselves_at_evaluation_too():
    for name in ("flax, batch norm", "nnx, batch norm"):
        model, x = NETWORKS[name](), jax.random.normal(KEY, (6, FEATURES))
        params = model.init(KEY)
        assert not any("mean" in jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(params))
        # A shift of all inputs goes away with the mean of the batch.
        shifted = model.apply(params, x + 5, None)
        np.testing.assert_allclose(shifted, model.apply(params, x, None), atol=1e-4)


def test_what_runs_faster_is_said_once(caplog):
    class Small(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.max_pool(nn.Conv(2, (3, 3))(x), (2, 2), (2, 2))
            return nn.Dense(3)(x.reshape(x.shape[0], -1))

    module = Small()
    with caplog.at_level(logging.INFO, "fedcos_jax"):
        model = from_flax(module, (6, 6, 1))
        assert from_flax(module, (6, 6, 1)) is model
    (record,) = caplog.records
    assert "Small runs in a faster form on CPUs: 1 Conv, 1 pooling" in record.getMessage()
    assert model.cpu_chunk == 1
    assert from_flax(module, (6, 6, 1), fast_layers=False).cpu_chunk is None
    assert from_flax(WithoutTrain(), SHAPE).cpu_chunk is None


class Widths(nn.Module):
    widths: list[int]

    @nn.compact
    def __call__(self, x):
        for width in self.widths:
            x = nn.Dense(width)(x)
        return x


def test_a_module_with_lists_and_a_shape_as_a_list_will_do():
    model = from_flax(Widths([4, 3]), list(SHAPE))
    assert model.apply(model.init(KEY), jnp.ones((2, FEATURES)), None).shape == (2, 3)


class Counting(nn.Module):
    @nn.compact
    def __call__(self, x):
        self.variable("cache", "calls", lambda: jnp.zeros(()))
        return nn.Dense(3)(x)


class Masked(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        return nn.Dense(3)(x * mask)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_flax(Nnx(nnx.Rngs(0)), SHAPE), "use fc.from_nnx"),
        (lambda: from_flax(Equinox(KEY), SHAPE), "use fc.from_equinox"),
        (lambda: from_flax(plain_apply, SHAPE), "use fc.from_functions"),
        (lambda: from_flax(Linen, SHAPE), r"not its class: write Linen\(...\)"),
        (lambda: from_flax(Linen(norm=True), SHAPE), 'choose batch_norm="local"'),
        (lambda: from_flax(Linen(norm=True), SHAPE, batch_norm="averaged"), 'must be "local" or None'),
        (lambda: from_flax(Counting(), SHAPE), "keeps cache too"),
        (lambda: from_flax(Masked(), SHAPE), "needs mask besides x"),
        (lambda: from_nnx(lambda rngs: Nnx(rngs, norm=True), SHAPE), 'choose batch_norm="local"'),
        (lambda: from_nnx(3, SHAPE), r"a function \(rngs\) -> module"),
        (lambda: from_nnx(lambda rngs: 3, SHAPE), "must return an nnx module, not int"),
        (lambda: from_equinox(3, SHAPE), r"a function \(key\) -> module"),
        (lambda: from_equinox(eqx.nn.BatchNorm(4, "batch", mode="batch"), SHAPE), "eqx.nn.GroupNorm"),
        (lambda: from_functions(lambda key, x: {"n": jnp.zeros((), int)}, plain_apply, SHAPE), "arrays of floats"),
        (lambda: from_functions(lambda key, x: {"w": x}, lambda p, key, x: p["w"].sum(), SHAPE), "no batch"),
    ],
)
def test_mistakes_are_one_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_equinox_is_not_needed_by_others(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "equinox", None)
    with pytest.raises(InputError, match="pip install equinox"):
        from_equinox(Equinox, SHAPE)
