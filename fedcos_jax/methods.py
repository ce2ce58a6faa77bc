"""The federated methods, each a composition of a penalty, an aggregation and a server optimizer.

| method        | client adds        | server does          |
|---------------|--------------------|----------------------|
| FedAvg        | nothing            | x̂ ← x̂ + Δ            |
| FedProx(μ)    | μ ‖x - x̂‖²         | x̂ ← x̂ + Δ            |
| FedAvgM(β)    | nothing            | x̂ ← x̂ + m, momentum  |
| FedOpt(η_g)   | nothing            | x̂ ← x̂ + η_g Δ        |
| FedAdam(η_g), FedYogi(η_g) | nothing | x̂ ← x̂ + η_g m / (√v + τ) |
| FedNova       | nothing            | x̂ ← x̂ + Δ, λ_i by move a step |
| SCAFFOLD      | <x - x̂, c - c_i>   | x̂ ← x̂ + Δ            |
| FedDyn(α)     | α/2 ‖x - x̂‖² - <x - x̂, g_i> | x̂ ← x̂ + Δ + s |
| FedCos(μ)     | μ (1 - cos θ)      | x̂ ← x̂ + Δ            |
| any + FedCos  | its own + FedCos's | its own              |
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from jax.tree_util import Partial

from fedcos_jax import aggregation, optimizers, penalties
from fedcos_jax.errors import InputError, require, require_known
from fedcos_jax.types import FederatedMethod, Scalar


def fedavg() -> FederatedMethod:
    """FedAvg (McMahan et al. 2017): the weighted mean of the local models."""
    return FederatedMethod(penalties.chain(), Partial(aggregation.by_size), optimizers.server_sgd())


def fedprox(strength: Scalar, *, half: bool = False) -> FederatedMethod:
    """FedProx (Li et al. 2018): clients stay near the global model; `half` as in `penalties.proximal`."""
    return fedavg()._replace(penalty=penalties.proximal(strength, half=half))


def fedavgm(momentum: Scalar, *, damped: bool = False) -> FederatedMethod:
    """FedAvgM (Hsu et al. 2019): server momentum; `damped` as in `optimizers.server_sgd`."""
    return fedavg()._replace(server=optimizers.server_sgd(1.0, momentum, damped=damped))


def fedopt(learning_rate: Scalar) -> FederatedMethod:
    """FedOpt (Reddi et al. 2021) with SGD on the server: a server learning rate."""
    return fedavg()._replace(server=optimizers.server_sgd(learning_rate))


def fedadam(learning_rate: Scalar) -> FederatedMethod:
    """FedAdam (Reddi et al. 2021): Adam on the server."""
    return fedavg()._replace(server=optimizers.server_adam(learning_rate))


def fedyogi(learning_rate: Scalar) -> FederatedMethod:
    """FedYogi (Reddi et al. 2021): Yogi on the server."""
    return fedavg()._replace(server=optimizers.server_yogi(learning_rate))


def fednova() -> FederatedMethod:
    """FedNova (Wang et al. 2020): clients that take more local steps do not count more."""
    return fedavg()._replace(weights=Partial(aggregation.by_size_a_step))


def scaffold() -> FederatedMethod:
    """SCAFFOLD (Karimireddy et al. 2020): control variates against client drift; every client counts the same."""
    return fedavg()._replace(penalty=penalties.control_variate(), weights=aggregation.uniform)


def feddyn(strength: Scalar) -> FederatedMethod:
    """FedDyn (Acar et al. 2021): dynamic regularisation; every client counts the same."""
    return FederatedMethod(penalties.dynamic(strength), aggregation.uniform, optimizers.server_dynamic())


def fedcos(strength: Scalar, *, epsilon: Scalar = 0.0, before_server: bool = False) -> FederatedMethod:
    """FedCos (Zhang et al. 2022): clients move along the last global move; options as in `penalties.cosine`."""
    return with_fedcos(fedavg(), strength, epsilon=epsilon, before_server=before_server)


def with_fedcos(
    method: FederatedMethod, strength: Scalar, *, epsilon: Scalar = 0.0, before_server: bool = False
) -> FederatedMethod:
    """Enhances any method by FedCos; options as in `penalties.cosine`."""
    cosine = penalties.cosine(strength, epsilon=epsilon, before_server=before_server)
    return method._replace(penalty=penalties.chain(method.penalty, cosine))


class Options(NamedTuple):
    """The either/or choices between the paper and its authors' code."""

    half_proximal: bool = False
    damped_momentum: bool = False
    epsilon: float = 0.0
    before_server: bool = False
    uniform_weights: bool = False


PAPER = Options()
"""The options as the paper words them."""


class MethodEntry(NamedTuple):
    """One row of the METHODS registry."""

    label: str
    """The name as the paper's tables spell it."""
    parameter: str | None
    """What the number in brackets is, as flags and configs spell it; None if there is none."""
    default: float | None
    build: Callable[..., FederatedMethod]
    """(number, options) -> method."""
    summary: str = ""
    """What it does, in a few words, for `fedcos list`."""


METHODS: dict[str, MethodEntry] = {
    "fedavg": MethodEntry("FedAvg", None, None, lambda value, o: fedavg(), "the weighted mean of the local models"),
    "fedprox": MethodEntry(
        "FedProx",
        "prox_strength",
        0.1,
        lambda value, o: fedprox(value, half=o.half_proximal),
        "clients stay near the global model",
    ),
    "fedavgm": MethodEntry(
        "FedAvgM", "server_momentum", 0.5, lambda value, o: fedavgm(value, damped=o.damped_momentum), "server momentum"
    ),
    "fedopt": MethodEntry("FedOpt", "server_lr", 1.5, lambda value, o: fedopt(value), "a server learning rate"),
    "fedadam": MethodEntry("FedAdam", "adam_lr", 0.01, lambda value, o: fedadam(value), "Adam on the server"),
    "fedyogi": MethodEntry("FedYogi", "yogi_lr", 0.01, lambda value, o: fedyogi(value), "Yogi on the server"),
    "fednova": MethodEntry("FedNova", None, None, lambda value, o: fednova(), "clients count by their move a step"),
    "scaffold": MethodEntry(
        "SCAFFOLD", None, None, lambda value, o: scaffold(), "control variates against client drift"
    ),
    "feddyn": MethodEntry("FedDyn", "dyn_strength", 0.1, lambda value, o: feddyn(value), "dynamic regularisation"),
    "fedcos": MethodEntry(
        "FedCos",
        "cos_strength",
        0.02,
        lambda value, o: fedcos(value, epsilon=o.epsilon, before_server=o.before_server),
        "clients move along the last global move",
    ),
}


class Term(NamedTuple):
    """One method of a label: a METHODS name and its number."""

    name: str
    value: float | None

    @property
    def label(self) -> str:
        return METHODS[self.name].label + (f"({_text(self.value)})" if self.value is not None else "")

    @property
    def numbers(self) -> dict[str, float]:
        parameter = METHODS[self.name].parameter
        return {} if parameter is None or self.value is None else {parameter: self.value}


def _text(value: float) -> str:
    """A number that reads back as itself; without the + of an exponent, which in a label adds methods."""
    short = f"{value:g}"
    return (short if float(short) == value else repr(float(value))).replace("e+", "e")


class MethodSpec(NamedTuple):
    """A method by name, as in the paper's tables: `FedAvg`, `FedProx(0.1)`, `FedOpt(1.5)+FedCos(0.02)`."""

    base: Term
    cosine: Term | None = None
    """FedCos on top of the base."""

    @property
    def label(self) -> str:
        return "+".join(term.label for term in self if term is not None)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of the label by name, as `paper_form` takes them."""
        return self.base.numbers | (self.cosine.numbers if self.cosine is not None else {})

    def build(self, options: Options = PAPER) -> FederatedMethod:
        """The method itself."""
        method = METHODS[self.base.name].build(self.base.value, options)
        if self.cosine is not None:
            method = with_fedcos(
                method, self.numbers["cos_strength"], epsilon=options.epsilon, before_server=options.before_server
            )
        if options.uniform_weights:
            method = method._replace(weights=Partial(aggregation.for_equal_sizes, method.weights))
        return method


def parse(label: str) -> MethodSpec:
    """Reads a method's label, case-insensitively; a missing number takes the method's default."""
    terms = [_parse_term(part, label) for part in label.split("+")]
    if len(terms) == 1:
        return MethodSpec(terms[0])
    if len(terms) == 2 and terms[1].name == "fedcos" and terms[0].name != "fedcos":
        return MethodSpec(terms[0], terms[1]) if terms[0].name != "fedavg" else MethodSpec(terms[1])
    raise InputError(f"method {label!r} is not of the form METHOD or METHOD+FedCos(strength)")


def _parse_term(text: str, label: str) -> Term:
    match = re.fullmatch(r"\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*", text.lower())
    if match is None:
        raise InputError(f"method {label!r} is not of the form METHOD or METHOD(number), like FedCos(0.02)")
    name, number = match.groups()
    require_known(name, METHODS, "method")
    entry = METHODS[name]
    if number is None:
        return Term(name, entry.default)
    if entry.parameter is None:
        raise InputError(f"method {entry.label} takes no number, got {label!r}")
    try:
        return Term(name, float(number))
    except ValueError:
        raise InputError(f"{number!r} in method {label!r} is not a number") from None


def paper_form(
    *,
    prox_strength: Scalar = 0.0,
    server_momentum: Scalar = 0.0,
    server_lr: Scalar = 1.0,
    cos_strength: Scalar = 0.0,
    options: Options = PAPER,
) -> FederatedMethod:
    """Every method of the paper's tables as one structure, differing in numbers only.

    With the numbers traced, the nine rows of a table are one compiled program.
    """
    penalty = penalties.chain(
        penalties.proximal(prox_strength, half=options.half_proximal),
        penalties.cosine(cos_strength, epsilon=options.epsilon, before_server=options.before_server),
    )
    weights = aggregation.uniform if options.uniform_weights else Partial(aggregation.by_size)
    server = optimizers.server_sgd(server_lr, server_momentum, damped=options.damped_momentum)
    return FederatedMethod(penalty, weights, server)


_IN_PAPER = ("fedavg", "fedprox", "fedavgm", "fedopt", "fedcos")


def in_paper_form(spec: MethodSpec, options: Options = PAPER) -> FederatedMethod:
    """A method of the paper's tables by its label, in the structure they all share."""
    shared = [METHODS[name].label for name in _IN_PAPER]
    require(spec.base.name in _IN_PAPER, f"{spec.base.label} is not of one form with {', '.join(shared)}")
    return paper_form(**spec.numbers, options=options)
