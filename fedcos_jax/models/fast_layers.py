"""Layers of flax.linen in the form that is fastest on the platform: same parameters, same values, no change of code.

`fast_layers()` intercepts the calls of a module while it runs. What differs in any way from the cases below goes to
flax, and on accelerators everything does.
"""

import contextlib
import contextvars
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.linen import linear, pooling

from fedcos_jax.ops.conv import conv_pool
from fedcos_jax.ops.layers import group_norm
from fedcos_jax.ops.lstm import lstm_layer
from fedcos_jax.ops.pool import window_max, window_sum
from fedcos_jax.types import Array

_TYPES = (jnp.dtype("float32"), jnp.dtype("float64"))
_LSTM_CELLS = (nn.LSTMCell, nn.OptimizedLSTMCell)
_flax_pool = pooling.pool
_swapping = threading.RLock()
_POOLS: dict[Any, Callable[..., Array]] = {jax.lax.max: window_max, jax.lax.add: window_sum}
_by_flax = contextvars.ContextVar("_by_flax", default=False)
"""Whether flax itself computes the layer that is being traced, so that no interceptor may take it."""


@contextlib.contextmanager
def fast_layers(replaced: Counter[str]) -> Iterator[None]:
    """While it is entered, flax's layers run in their fast form, and `replaced` counts the layers that do.

    Modules are intercepted by `nn.intercept_methods`. Pooling is a function, so the one function behind flax's pooling
    is exchanged. A lock lets one thread at a time do so.
    """

    def layer(call: Callable, args: tuple, kwargs: dict, context: nn.module.InterceptorContext) -> Any:
        fast = _FORMS.get(type(context.module))
        if fast is None or not args or not _takes(context):
            return call(*args, **kwargs)
        found = fast(context.module, *args, **kwargs)
        if found is None:
            return call(*args, **kwargs)
        replaced[type(context.module).__name__] += 1
        return found

    def pool(x: Array, init: float, reduce: Callable, window: tuple, strides: tuple | None, padding: Any) -> Array:
        form = _POOLS.get(reduce)
        fits = x.ndim == 4 and len(window) == 2 and tuple(strides or (1, 1)) == tuple(window) and padding == "VALID"
        if form is None or not fits or x.dtype not in _TYPES or window[0] > x.shape[1] or window[1] > x.shape[2]:
            return _flax_pool(x, init, reduce, window, strides, padding)
        replaced["pooling"] += 1
        return jax.lax.platform_dependent(
            x,
            cpu=lambda x: form(x, tuple(window)),
            default=lambda x: _flax_pool(x, init, reduce, window, strides, padding),
        )

    with _swapping, nn.intercept_methods(layer):
        before, pooling.pool = pooling.pool, pool
        try:
            yield
        finally:
            pooling.pool = before


@contextlib.contextmanager
def batch_statistics() -> Iterator[None]:
    """While it is entered, flax's batch normalisation uses the statistics of each batch and keeps none."""

    def layer(call: Callable, args: tuple, kwargs: dict, context: nn.module.InterceptorContext) -> Any:
        module = context.module
        if type(module) is not nn.BatchNorm or not _takes(context):
            return call(*args, **kwargs)
        plain = _on_its_own(module.clone(use_running_average=False))
        masks = {name: value for name, value in kwargs.items() if name == "mask"}
        return plain({"params": module.variables.get("params", {})}, args[0], mutable=["batch_stats"], **masks)[0]

    with nn.intercept_methods(layer):
        yield


def _takes(context: nn.module.InterceptorContext) -> bool:
    """Whether an interceptor may take a call. While parameters are drawn, there are none yet to compute with."""
    return context.method_name == "__call__" and not _by_flax.get() and not context.module.is_initializing()


def _conv(module: nn.Conv, x: Array) -> Array | None:
    """nn.Conv over images, without groups, dilation or a mask."""
    size, strides = module.kernel_size, _pair(module.strides)
    ones = all(_pair(each) == (1, 1) for each in (module.input_dilation, module.kernel_dilation))
    usual = module.conv_general_dilated is None and module.conv_general_dilated_cls is None and module.mask is None
    params = _parameters(module, x)
    if isinstance(size, int) or len(size) != 2 or x.ndim != 4 or params is None or strides is None:
        return None
    padding = linear.canonicalize_padding(module.padding, 2)
    named = isinstance(padding, str) and padding not in ("SAME", "VALID")
    if not ones or not usual or named or module.feature_group_count != 1 or module.precision is not None:
        return None
    padding = padding if isinstance(padding, str) else tuple((before, after) for before, after in padding)
    y = conv_pool(x, params["kernel"], strides=strides, padding=padding, pool=1)
    return y + params["bias"].reshape(1, 1, 1, -1) if module.use_bias else y


def _group_norm(module: nn.GroupNorm, x: Array, *, mask: Array | None = None) -> Array | None:
    """nn.GroupNorm over whole images, with a scale and a bias."""
    params = _parameters(module, x)
    usual = module.use_scale and module.use_bias and module.use_fast_variance
    whole = module.reduction_axes is None and module.axis_name is None and mask is None
    if x.ndim != 4 or params is None or not usual or not whole:
        return None
    groups = module.num_groups or x.shape[-1] // (module.group_size or 1)
    plain = _on_its_own(module)
    return jax.lax.platform_dependent(
        x,
        params,
        cpu=lambda x, params: group_norm(x, params["scale"], params["bias"], groups, module.epsilon),
        default=lambda x, params: plain({"params": params}, x),
    )


def _rnn(module: nn.RNN, x: Array, **options: Any) -> Array | None:
    """nn.RNN over an LSTM that starts from zero and returns all its states."""
    cell = module.cell
    reverse, in_order, steps_first = (
        getattr(module, name) if options.get(name) is None else options[name]
        for name in ("reverse", "keep_order", "time_major")
    )
    others = {name for name, value in options.items() if value is not None and value is not False}
    if type(cell) not in _LSTM_CELLS or others - {"reverse", "keep_order", "time_major"} or x.ndim != 3:
        return None
    usual = cell.gate_fn is nn.sigmoid and cell.activation_fn is nn.tanh and cell.carry_init is nn.initializers.zeros
    alone = module.variable_broadcast == "params" and not module.variable_axes and not module.variable_carry
    params = _parameters(cell, x)
    if params is None or not usual or not alone or (module.return_carry and options.get("return_carry") is not False):
        return None

    def fast(x: Array, params: Any) -> Array:
        kernel_ih, kernel_hh = (
            jnp.concatenate([params[side + gate]["kernel"] for gate in "ifgo"], -1) for side in "ih"
        )
        bias = jnp.concatenate([params["h" + gate]["bias"] for gate in "ifgo"])
        x = x if steps_first else x.swapaxes(0, 1)
        y = lstm_layer(x[::-1] if reverse else x, kernel_ih, kernel_hh, bias)
        y = y[::-1] if reverse and in_order else y
        return y if steps_first else y.swapaxes(0, 1)

    plain = _on_its_own(module.clone(cell=cell.clone(parent=None, name=None), parent=None))
    return jax.lax.platform_dependent(
        x, params, cpu=fast, default=lambda x, params: plain({"params": {"cell": params}}, x, **options)
    )


_FORMS: dict[type, Callable[..., Array | None]] = {nn.Conv: _conv, nn.GroupNorm: _group_norm, nn.RNN: _rnn}
"""The fast form of each module. It gives None for a call that it does not cover."""


def _parameters(module: nn.Module, x: Array) -> Any:
    """The parameters of a module. None if flax would compute in another type than that of the inputs."""
    params = module.variables.get("params")
    types = {leaf.dtype for leaf in jax.tree.leaves(params)}
    usual = getattr(module, "dtype", None) is None and types == {x.dtype} and x.dtype in _TYPES
    return params if usual else None


def _on_its_own(module: nn.Module) -> Callable[..., Any]:
    """(variables, inputs) -> what flax itself gives, for the platforms that keep flax's layers."""
    alone = module.clone(parent=None, name=None)

    def apply(variables: Any, *args: Any, **kwargs: Any) -> Any:
        token = _by_flax.set(True)
        try:
            return alone.apply(variables, *args, **kwargs)
        finally:
            _by_flax.reset(token)

    return apply


def _pair(value: Any) -> tuple[int, int] | None:
    """A setting of a convolution as flax reads it, for two axes. None if it is for another number of axes."""
    value = 1 if value is None else value
    pair = (value, value) if isinstance(value, int) else tuple(value)
    return pair if len(pair) == 2 else None
