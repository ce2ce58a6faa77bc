"""Methods by name, as the paper's tables spell them: `FedAvg`, `FedProx(0.1)`, `FedOpt(1.5)+FedCos(0.02)`.

A label is a method and any number of wrappers. Methods and wrappers have parameters. The first parameter needs no name,
but the others do, as in `FedAdam(0.01,b2=0.999)`. METHODS and WRAPPERS are open: every command, table and sweep can use
a row that is added to them.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax.tree_util import Partial

from fedcos_jax import aggregation, methods, penalties
from fedcos_jax.errors import InputError, require, require_known
from fedcos_jax.types import FederatedMethod


class Options(NamedTuple):
    """The points in which the paper and its authors' code differ. The defaults are the paper's, except for epsilon."""

    half_proximal: bool = False
    damped_momentum: bool = False
    epsilon: float = penalties.EPSILON
    before_server: bool = False
    uniform_weights: bool = False


DEFAULTS = Options()


class Parameter(NamedTuple):
    """A number of a method or wrapper."""

    name: str
    """Its spelling in a label."""
    default: float | None
    """The value if a label gives none. None if an option gives it."""
    flag: str | None = None
    """The name of its command line flag and config key, if it has one."""


class Entry(NamedTuple):
    """One row of METHODS or WRAPPERS."""

    label: str
    """The name as the paper's tables spell it."""
    build: Callable[..., FederatedMethod]
    """(options, **parameters) -> method. For a wrapper: (method, options, **parameters) -> method."""
    summary: str
    """What it does, in a few words, for `fedcos list`."""
    parameters: tuple[Parameter, ...] = ()
    options: tuple[str, ...] = ()
    """The fields of `Options` that this entry reads and no other."""


def _fedcos(method: FederatedMethod, options: Options, strength: float, epsilon: float | None) -> FederatedMethod:
    epsilon = options.epsilon if epsilon is None else epsilon
    return methods.with_fedcos(method, strength, epsilon=epsilon, before_server=options.before_server)


_STRENGTH = Parameter("strength", 0.02, "cos_strength")
_ADAPTIVE = (Parameter("b1", 0.9), Parameter("b2", 0.99), Parameter("tau", 1e-3))

WRAPPERS: dict[str, Entry] = {
    "fedcos": Entry(
        "FedCos",
        _fedcos,
        "clients move along the last global move",
        (_STRENGTH, Parameter("epsilon", None)),
        ("epsilon", "before_server"),
    ),
}

METHODS: dict[str, Entry] = {
    "fedavg": Entry("FedAvg", lambda o: methods.fedavg(), "the weighted mean of the local models"),
    "fedprox": Entry(
        "FedProx",
        lambda o, strength: methods.fedprox(strength, half=o.half_proximal),
        "clients stay near the global model",
        (Parameter("strength", 0.1, "prox_strength"),),
        ("half_proximal",),
    ),
    "fedavgm": Entry(
        "FedAvgM",
        lambda o, momentum, lr: methods.fedavgm(momentum, learning_rate=lr, damped=o.damped_momentum),
        "server momentum",
        (Parameter("momentum", 0.5, "server_momentum"), Parameter("lr", 1.0)),
        ("damped_momentum",),
    ),
    "fedopt": Entry(
        "FedOpt",
        lambda o, lr: methods.fedopt(lr),
        "a server learning rate",
        (Parameter("lr", 1.5, "server_lr"),),
    ),
    "fedadam": Entry(
        "FedAdam",
        lambda o, lr, **numbers: methods.fedadam(lr, **numbers),
        "Adam on the server",
        (Parameter("lr", 0.01, "adam_lr"), *_ADAPTIVE),
    ),
    "fedyogi": Entry(
        "FedYogi",
        lambda o, lr, **numbers: methods.fedyogi(lr, **numbers),
        "Yogi on the server",
        (Parameter("lr", 0.01, "yogi_lr"), *_ADAPTIVE),
    ),
    "fednova": Entry("FedNova", lambda o: methods.fednova(), "clients count by their move per step"),
    "scaffold": Entry("SCAFFOLD", lambda o: methods.scaffold(), "control variates against client drift"),
    "feddyn": Entry(
        "FedDyn",
        lambda o, strength: methods.feddyn(strength),
        "dynamic regularisation",
        (Parameter("strength", 0.1, "dyn_strength"),),
    ),
}


class Flag(NamedTuple):
    """A parameter that has a command line flag, and the method or wrapper that it belongs to."""

    term: str
    label: str
    parameter: str


class _Flags(Mapping[str, Flag]):
    """The flags of all rows, also of those that are added later."""

    def _flags(self) -> dict[str, Flag]:
        return {
            parameter.flag: Flag(name, entry.label, parameter.name)
            for name, entry in (*METHODS.items(), *WRAPPERS.items())
            for parameter in entry.parameters
            if parameter.flag is not None
        }

    def __getitem__(self, name: str) -> Flag:
        return self._flags()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags())

    def __len__(self) -> int:
        return len(self._flags())


FLAGS = _Flags()
"""The parameters that have a flag, by the name of the flag."""


class Term(NamedTuple):
    """One method or wrapper of a label, and the values of its parameters, in their order."""

    name: str
    values: tuple[float | None, ...] = ()

    @property
    def entry(self) -> Entry:
        return _entry(self.name)

    @property
    def label(self) -> str:
        """The first parameter has no name. The others appear only if they differ from their defaults."""
        texts = []
        for place, (parameter, value) in enumerate(zip(self.entry.parameters, self.values, strict=True)):
            if value is not None and (place == 0 or value != parameter.default):
                texts.append(_text(value) if place == 0 else f"{parameter.name}={_text(value)}")
        return self.entry.label + (f"({','.join(texts)})" if texts else "")

    @property
    def parameters(self) -> dict[str, float | None]:
        """The values by the names of their parameters."""
        return {one.name: value for one, value in zip(self.entry.parameters, self.values, strict=True)}

    def replace(self, **values: float) -> "Term":
        """The term with some parameters changed."""
        return Term(self.name, tuple((self.parameters | values).values()))


def _entry(name: str) -> Entry:
    return METHODS[name] if name in METHODS else WRAPPERS[name]


def _text(value: float) -> str:
    """Text that reads back as the same number. An exponent has no +, because + joins the terms of a label."""
    short = f"{value:g}"
    return (short if float(short) == value else repr(float(value))).replace("e+", "e")


_FEDAVG = Term("fedavg")


class MethodSpec(NamedTuple):
    """A parsed label."""

    base: Term
    wrappers: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """The base and the wrappers. A base FedAvg is left out if there is a wrapper, because it changes nothing."""
        return self.wrappers if self.wrappers and self.base == _FEDAVG else (self.base, *self.wrappers)

    @property
    def label(self) -> str:
        """The canonical spelling."""
        return "+".join(term.label for term in self.terms)

    def without(self, wrapper: str) -> "MethodSpec":
        """The same method without a wrapper."""
        return self._replace(wrappers=tuple(term for term in self.wrappers if term.name != wrapper))

    def with_numbers(self, numbers: dict[str, float]) -> "MethodSpec":
        """The same method with new numbers, by their names in FLAGS. A number of a missing wrapper adds the wrapper."""
        spec = self
        for flag, value in numbers.items():
            term, label, parameter = FLAGS[flag]
            if term in WRAPPERS and term not in [wrapper.name for wrapper in spec.wrappers]:
                spec = spec._replace(wrappers=(*spec.wrappers, _defaults(term)))
            known = term in [one.name for one in (spec.base, *spec.wrappers)]
            require(known, f"{flag.replace('_', '-')} is the number of {label}, but the method is {self.label}")
            base, *wrappers = (
                one.replace(**{parameter: value}) if one.name == term else one for one in (spec.base, *spec.wrappers)
            )
            spec = MethodSpec(base, tuple(wrappers))
        return spec

    def build(self, options: Options = DEFAULTS) -> FederatedMethod:
        """The method itself."""
        method = METHODS[self.base.name].build(options, **self.base.parameters)
        for term in self.wrappers:
            method = WRAPPERS[term.name].build(method, options, **term.parameters)
        return _weighted(method, options)

    def in_paper_form(self, options: Options = DEFAULTS) -> FederatedMethod:
        """The method in the structure that all methods of the paper's tables share. Other methods keep their own."""
        shares = self.base.name in _IN_PAPER and all(wrapper.name == "fedcos" for wrapper in self.wrappers)
        if not shares:
            return self.build(options)
        numbers: dict[str, Any] = {}
        epsilon: float | None = None
        for term in (self.base, *self.wrappers):
            for parameter in term.entry.parameters:
                value = term.parameters[parameter.name]
                if parameter.flag is not None and value is not None:
                    numbers[parameter.flag] = value
            epsilon = term.parameters.get("epsilon", epsilon)
            if term.name == "fedavgm":
                numbers["server_lr"] = term.parameters["lr"] or 0.0
        chosen = options._asdict() | ({} if epsilon is None else {"epsilon": epsilon})
        chosen.pop("uniform_weights")
        return _weighted(methods.paper_form(**numbers, **chosen), options)


_IN_PAPER = ("fedavg", "fedprox", "fedavgm", "fedopt")


def _weighted(method: FederatedMethod, options: Options) -> FederatedMethod:
    if not options.uniform_weights:
        return method
    return method._replace(weights=Partial(aggregation.for_equal_sizes, method.weights))


def alike(specs: Sequence[MethodSpec], options: Sequence[Options]) -> list[FederatedMethod]:
    """The methods in as few structures as possible, so that few programs have to be compiled.

    If all methods already share a structure, they keep it. Otherwise those of the paper's tables take `in_paper_form`.
    """
    plain = [spec.build(option) for spec, option in zip(specs, options, strict=True)]
    if len({jax.tree.structure(method) for method in plain}) == 1:
        return plain
    return [spec.in_paper_form(option) for spec, option in zip(specs, options, strict=True)]


def parse(label: str) -> MethodSpec:
    """Reads a label in any case. A parameter that is not given takes its default.

    Example:
        >>> parse("fedopt + fedcos(0.02)").label
        'FedOpt(1.5)+FedCos(0.02)'
    """
    base, *rest = _split(label)
    first = _parse_term(base, label)
    if first.name in WRAPPERS:
        first, rest = _FEDAVG, [base, *rest]
    wrappers = tuple(_parse_term(text, label) for text in rest)
    for place, term in enumerate(wrappers):
        known = [entry.label for entry in WRAPPERS.values()]
        require(term.name in WRAPPERS, f"{term.label} in method {label!r} is not one of {', '.join(known)}")
        twice = term.name in [other.name for other in wrappers[:place]]
        require(not twice, f"method {label!r} has {term.entry.label} twice")
    return MethodSpec(first, wrappers)


def split_labels(text: str) -> list[str]:
    """Labels separated by commas. Commas within brackets separate parameters."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def _split(label: str) -> list[str]:
    return re.split(r"\+(?![^(]*\))", label)


def _defaults(name: str) -> Term:
    return Term(name, tuple(parameter.default for parameter in _entry(name).parameters))


def _parse_term(text: str, label: str) -> Term:
    match = re.fullmatch(r"\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*", text.lower())
    if match is None:
        raise InputError(f"method {label!r} is not of the form METHOD(number)+WRAPPER(number), like FedCos(0.02)")
    name, inside = match.groups()
    require_known(name, dict.fromkeys((*METHODS, *WRAPPERS)), "method")
    term = _defaults(name)
    if inside is None:
        return term
    parameters = term.entry.parameters
    require(bool(parameters), f"method {term.entry.label} takes no number, got {label!r}")
    given: dict[str, float] = {}
    for place, part in enumerate(inside.split(",")):
        key, equals, number = (piece.strip() for piece in part.rpartition("="))
        require(bool(equals) or place == 0, f"{number!r} in method {label!r} needs a name, like {_example(parameters)}")
        key = key if equals else parameters[0].name
        require_known(key, [parameter.name for parameter in parameters], f"parameter of {term.entry.label}")
        require(key not in given, f"{key} is given twice in method {label!r}")
        given[key] = _number(number, label)
    return term.replace(**given)


def _example(parameters: Sequence[Parameter]) -> str:
    last = parameters[-1]
    return f"{last.name}={_text(1e-4 if last.default is None else last.default)}"


def _number(text: str, label: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{text!r} in method {label!r} is not a number") from None
    require(math.isfinite(value), f"{text!r} in method {label!r} is not a finite number")
    return value
