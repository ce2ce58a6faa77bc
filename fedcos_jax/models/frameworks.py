"""Networks of other libraries as models: flax.linen, flax.nnx, equinox, and plain functions.

All give parameters as plain trees of arrays, take the shape of one example, and draw noise from the key of the step.
"""

import contextlib
import functools
import importlib
import inspect
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp

from fedcos_jax.errors import InputError, require
from fedcos_jax.models import fast_layers as fast
from fedcos_jax.models.model import Model
from fedcos_jax.types import Array, Params

BatchNorm = Literal["local"] | None
"""How batch normalisation works: with the statistics of each batch, or None if a network has none."""

_TRAINING = {"train": True, "training": True, "is_training": True, "deterministic": False, "inference": False}
"""The arguments by which a network is told that it trains, and their values then."""
_BATCH_NORM = (
    'the network has batch normalisation, whose running statistics clients do not share: choose batch_norm="local", '
    "which takes the statistics of each batch in training and at evaluation, or normalise by groups"
)


def from_flax(
    module: nn.Module,
    input_shape: tuple[int, ...],
    input_dtype: str = "float32",
    cpu_chunk: int | None = None,
    *,
    fast_layers: bool = True,
    batch_norm: BatchNorm = None,
) -> Model:
    """The model of a flax.linen module whose `__call__` takes the inputs, and `train` if training differs.

    On CPUs, flax's convolutions, group norms, LSTMs and poolings run in the faster forms of `fedcos_jax.ops`.
    Parameters stay the same, and so do values, up to rounding. A line of the logger `fedcos_jax` says which layers do,
    at level INFO. Equal modules give the same object, so that they share compiled programs.

    Args:
        module: e.g. `MLP(classes=10)`. It draws its dropout from the rng stream "dropout".
        input_shape: shape of one example, without the batch.
        input_dtype: dtype of the inputs after preprocessing.
        cpu_chunk: as in `Model`. None for one client at a time if layers run in a faster form.
        fast_layers: whether layers may run in a faster form. False keeps flax's own.
        batch_norm: "local" for the statistics of each batch. None if the module has no batch normalisation.

    Example:
        >>> model = fc.from_flax(fc.models.MLP(classes=10), (28, 28))
        >>> params = model.init(jax.random.key(0))
    """
    _check_linen(module)
    _check_batch_norm(batch_norm)
    try:
        hash(module)
        make: Callable[..., Model] = _flax_model
    except TypeError:  # it has a list or an array among its fields
        make = _flax_model.__wrapped__
    return make(module, tuple(input_shape), str(jnp.dtype(input_dtype)), cpu_chunk, fast_layers, batch_norm)


# The cache is bounded, because the functions of a model may hold parameters.
@functools.lru_cache(maxsize=64)
def _flax_model(
    module: nn.Module,
    input_shape: tuple[int, ...],
    input_dtype: str,
    cpu_chunk: int | None,
    fast_layers: bool,
    batch_norm: BatchNorm,
) -> Model:
    mode, replaced = _mode(module), Counter[str]()

    def init(key: Array) -> Params:
        variables = dict(module.init(key, jnp.zeros((1, *input_shape), input_dtype), **mode(False)))
        params = variables.pop("params", {})
        statistics = variables.pop("batch_stats", None)
        require(statistics is None or batch_norm is not None, _BATCH_NORM)
        require(not variables, f"a model has parameters only, but the module keeps {', '.join(variables)} too")
        require(bool(jax.tree.leaves(params)), "the module has no parameters to train")
        return params

    def apply(params: Params, x: Array, key: Array | None) -> Array:
        rngs = None if key is None else {"dropout": key}
        faster = fast.fast_layers(replaced) if fast_layers else contextlib.nullcontext()
        statistics = fast.batch_statistics() if batch_norm else contextlib.nullcontext()
        with faster, statistics:
            return jnp.asarray(module.apply({"params": params}, _typed(x, params), **mode(key is not None), rngs=rngs))

    model = _checked(Model(init, apply, cpu_chunk=cpu_chunk), input_shape, input_dtype)
    if not replaced:
        return model
    layers = ", ".join(f"{number} {name}" for name, number in replaced.items())
    text = "%s runs in a faster form on CPUs: %s (fast_layers=False keeps flax's own)"
    logging.getLogger("fedcos_jax").info(text, type(module).__name__, layers)
    return model._replace(cpu_chunk=cpu_chunk or 1)


def from_nnx(
    network: Any,
    input_shape: tuple[int, ...],
    input_dtype: str = "float32",
    cpu_chunk: int | None = None,
    *,
    batch_norm: BatchNorm = None,
) -> Model:
    """The model of a flax.nnx module. A model made anew compiles anew, so make it once.

    Args:
        network: a function (rngs) -> module, to draw initial parameters from the key of the run, or a module, to start
            from its parameters.
        input_shape: shape of one example, without the batch.
        input_dtype: dtype of the inputs after preprocessing.
        cpu_chunk: as in `Model`.
        batch_norm: "local" for the statistics of each batch. None if the module has no batch normalisation.

    Example:
        >>> model = fc.from_nnx(lambda rngs: nnx.Linear(784, 10, rngs=rngs), (784,))
    """
    nnx = importlib.import_module("flax.nnx")
    _check_batch_norm(batch_norm)
    given = isinstance(network, nnx.Module)
    require(given or callable(network), "from_nnx takes an nnx module or a function (rngs) -> module")
    module = network if given else network(nnx.Rngs(params=0, dropout=1))
    require(isinstance(module, nnx.Module), f"the function must return an nnx module, not {type(module).__name__}")
    graph, first, others = nnx.split(module, nnx.Param, ...)
    variables = jax.tree.leaves(others, is_leaf=lambda leaf: isinstance(leaf, nnx.Variable))
    require(not any(isinstance(v, nnx.BatchStat) for v in variables) or batch_norm is not None, _BATCH_NORM)
    mode = _mode(module)

    def init(key: Array) -> Params:
        drawn = first if given else nnx.state(network(nnx.Rngs(params=key, dropout=key)), nnx.Param)
        return nnx.to_pure_dict(drawn)

    def apply(params: Params, x: Array, key: Array | None) -> Array:
        # Copies, because nnx lets nobody change the variables of another trace.
        state, rest = (jax.tree.map(lambda leaf: leaf, part) for part in (first, others))
        nnx.replace_by_pure_dict(state, params)
        rebuilt = nnx.merge(graph, state, rest)
        rebuilt.set_attributes(deterministic=key is None, use_running_average=False, raise_if_not_found=False)
        if key is not None:
            nnx.reseed(rebuilt, default=key, dropout=key)
        return jnp.asarray(rebuilt(_typed(x, params), **mode(key is not None)))

    return _checked(Model(init, apply, cpu_chunk=cpu_chunk), input_shape, input_dtype)


def from_equinox(
    network: Any, input_shape: tuple[int, ...], input_dtype: str = "float32", cpu_chunk: int | None = None
) -> Model:
    """The model of an equinox module. A model made anew compiles anew, so make it once.

    As is the custom there, the module takes one example, and an argument `key` if it draws noise. Its parameters are
    its arrays of floats. equinox must be installed.

    Args:
        network: a function (key) -> module, to draw initial parameters from the key of the run, or a module, to start
            from its parameters.
        input_shape: shape of one example. Convolutions of equinox take channels first.
        input_dtype: dtype of the inputs after preprocessing.
        cpu_chunk: as in `Model`.

    Example:
        >>> model = fc.from_equinox(lambda key: eqx.nn.MLP(784, 10, 200, 1, key=key), (784,))
    """
    try:
        eqx = importlib.import_module("equinox")
    except ImportError:
        raise InputError("from_equinox needs equinox: pip install equinox") from None
    given = isinstance(network, eqx.Module)
    require(given or callable(network), "from_equinox takes an equinox module or a function (key) -> module")
    module = network if given else network(jax.random.key(0))
    require(isinstance(module, eqx.Module), f"the function must return a module, not {type(module).__name__}")
    stateful = any(isinstance(leaf, eqx.nn.StateIndex) for leaf in _leaves(module, eqx.nn.StateIndex))
    require(not stateful, "a module that keeps a state, like eqx.nn.BatchNorm, cannot be a model: use eqx.nn.GroupNorm")
    first, rest = eqx.partition(module, eqx.is_inexact_array)
    paths, structure = jax.tree_util.tree_flatten_with_path(first)
    names = [jax.tree_util.keystr(path) for path, _ in paths]
    with_key = "key" in inspect.signature(type(module).__call__).parameters

    def init(key: Array) -> Params:
        drawn = first if given else eqx.partition(network(key), eqx.is_inexact_array)[0]
        return dict(zip(names, jax.tree.leaves(drawn), strict=True))

    def apply(params: Params, x: Array, key: Array | None) -> Array:
        rebuilt = eqx.combine(jax.tree.unflatten(structure, [params[name] for name in names]), rest)
        rebuilt, x = eqx.nn.inference_mode(rebuilt, value=key is None), _typed(x, params)
        if key is None or not with_key:
            return jax.vmap(rebuilt)(x)
        return jax.vmap(lambda row, key: rebuilt(row, key=key))(x, jax.random.split(key, x.shape[0]))

    return _checked(Model(init, apply, cpu_chunk=cpu_chunk), input_shape, input_dtype)


def from_functions(
    init: Callable[..., Params],
    apply: Callable[..., Array],
    input_shape: tuple[int, ...],
    input_dtype: str = "float32",
    cpu_chunk: int | None = None,
    *,
    train: str | None = None,
) -> Model:
    """The model of two functions, as `haiku.transform` gives them. A model made anew compiles anew, so make it once.

    Args:
        init: (key, inputs [1, ...]) -> parameters, a tree of arrays of floats.
        apply: (parameters, key, inputs [batch, ...]) -> outputs [batch, ...]. The key is None at evaluation.
        input_shape: shape of one example, without the batch.
        input_dtype: dtype of the inputs after preprocessing.
        cpu_chunk: as in `Model`.
        train: name of the argument that tells both functions whether the network trains. None if they have none.

    Example:
        >>> model = fc.from_functions(transformed.init, transformed.apply, (28, 28), train="is_training")
    """

    def mode(training: bool) -> dict[str, bool]:
        return {} if train is None else {train: training}

    def model_init(key: Array) -> Params:
        return init(key, jnp.zeros((1, *input_shape), input_dtype), **mode(False))

    def model_apply(params: Params, x: Array, key: Array | None) -> Array:
        return jnp.asarray(apply(params, key, _typed(x, params), **mode(key is not None)))

    return _checked(Model(model_init, model_apply, cpu_chunk=cpu_chunk), input_shape, input_dtype)


def _typed(x: Array, params: Params) -> Array:
    """Inputs in the type of the parameters, unless they are whole numbers."""
    return x.astype(jax.tree.leaves(params)[0].dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x


def _mode(module: Any) -> Callable[[bool], dict[str, Any]]:
    """(whether it trains) -> the arguments that tell the module. A module without such an argument gets none."""
    _, inputs, *others = inspect.signature(type(module).__call__).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p.name for p in others if p.default is p.empty and p.kind not in kinds and p.name not in _TRAINING]
    name = type(module).__name__
    require(not needed, f"{name}.__call__ needs {', '.join(needed)} besides {inputs.name}: give it a default value")
    told = [p.name for p in others if p.name in _TRAINING]
    return lambda training: {name: _TRAINING[name] == training for name in told}


def _check_linen(module: Any) -> None:
    """Raises InputError with the right function for modules of other libraries."""
    if isinstance(module, nn.Module):
        return
    if isinstance(module, type) and issubclass(module, nn.Module):
        raise InputError(f"from_flax takes a module, not its class: write {module.__name__}(...)")
    origins = " ".join(base.__module__ for base in type(module).__mro__)
    siblings = {"flax.nnx": "use fc.from_nnx", "equinox": "use fc.from_equinox"}
    advice = next((advice for name, advice in siblings.items() if name in origins), "use fc.from_functions")
    raise InputError(f"from_flax takes a flax.linen module, not {type(module).__name__}: {advice}")


def _check_batch_norm(batch_norm: Any) -> None:
    require(batch_norm in (None, "local"), f'batch_norm must be "local" or None, got {batch_norm!r}')


def _checked(model: Model, input_shape: tuple[int, ...], input_dtype: str) -> Model:
    """The model, if it takes inputs of this shape and gives one output per row."""
    key, x = jax.random.key(0), jax.ShapeDtypeStruct((2, *input_shape), input_dtype)
    params = jax.eval_shape(model.init, key)
    require(bool(jax.tree.leaves(params)), "the network has no parameters to train")
    floats = all(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(params))
    require(floats, "parameters must be arrays of floats, because clients train all of them")
    output = jax.eval_shape(model.apply, params, x, key)
    given = "no batch" if not output.shape else f"{output.shape[0]} rows"
    require(output.shape[:1] == (2,), f"the network must give one output per row, but it gave {given} for 2 rows")
    return model


def _leaves(tree: Any, kind: type) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, kind))
