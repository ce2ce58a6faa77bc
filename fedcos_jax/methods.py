"""The federated methods, each composed of a penalty, an aggregation rule and a server optimizer.

| method        | client adds        | server does          |
|---------------|--------------------|----------------------|
| FedAvg        | nothing            | x̂ ← x̂ + Δ            |
| FedProx(μ)    | μ ‖x - x̂‖²         | x̂ ← x̂ + Δ            |
| FedAvgM(β)    | nothing            | x̂ ← x̂ + m, momentum  |
| FedOpt(η_g)   | nothing            | x̂ ← x̂ + η_g Δ        |
| FedAdam(η_g), FedYogi(η_g) | nothing | x̂ ← x̂ + η_g m / (√v + τ) |
| FedNova       | nothing            | x̂ ← x̂ + Δ, λ_i by move per step |
| SCAFFOLD      | <x - x̂, c - c_i>   | x̂ ← x̂ + Δ            |
| FedDyn(α)     | α/2 ‖x - x̂‖² - <x - x̂, g_i> | x̂ ← x̂ + Δ + s |
| FedCos(μ)     | μ (1 - cos θ)      | x̂ ← x̂ + Δ            |
| any + FedCos  | its own + FedCos's | its own              |
"""

from jax.tree_util import Partial

from fedcos_jax import aggregation, optimizers, penalties
from fedcos_jax.types import FederatedMethod, Scalar


def fedavg() -> FederatedMethod:
    """FedAvg (McMahan et al. 2017): the weighted mean of the local models."""
    return FederatedMethod(penalties.chain(), Partial(aggregation.by_size), optimizers.server_sgd())


def fedprox(strength: Scalar, *, half: bool = False) -> FederatedMethod:
    """FedProx (Li et al. 2018): clients stay near the global model. `half` is as in `penalties.proximal`."""
    return fedavg()._replace(penalty=penalties.proximal(strength, half=half))


def fedavgm(momentum: Scalar, *, learning_rate: Scalar = 1.0, damped: bool = False) -> FederatedMethod:
    """FedAvgM (Hsu et al. 2019): server momentum. Options are as in `optimizers.server_sgd`."""
    return fedavg()._replace(server=optimizers.server_sgd(learning_rate, momentum, damped=damped))


def fedopt(learning_rate: Scalar) -> FederatedMethod:
    """FedOpt (Reddi et al. 2021) with SGD on the server: a server learning rate."""
    return fedavg()._replace(server=optimizers.server_sgd(learning_rate))


def fedadam(learning_rate: Scalar, *, b1: Scalar = 0.9, b2: Scalar = 0.99, tau: Scalar = 1e-3) -> FederatedMethod:
    """FedAdam (Reddi et al. 2021): Adam on the server. Options are as in `optimizers.server_adam`."""
    return fedavg()._replace(server=optimizers.server_adam(learning_rate, b1=b1, b2=b2, tau=tau))


def fedyogi(learning_rate: Scalar, *, b1: Scalar = 0.9, b2: Scalar = 0.99, tau: Scalar = 1e-3) -> FederatedMethod:
    """FedYogi (Reddi et al. 2021): Yogi on the server. Options are as in `optimizers.server_adam`."""
    return fedavg()._replace(server=optimizers.server_yogi(learning_rate, b1=b1, b2=b2, tau=tau))


def fednova() -> FederatedMethod:
    """FedNova (Wang et al. 2020): clients that take more local steps do not count more."""
    return fedavg()._replace(weights=Partial(aggregation.by_size_per_step))


def scaffold() -> FederatedMethod:
    """SCAFFOLD (Karimireddy et al. 2020): control variates against client drift. Every client counts the same."""
    return fedavg()._replace(penalty=penalties.control_variate(), weights=aggregation.uniform)


def feddyn(strength: Scalar) -> FederatedMethod:
    """FedDyn (Acar et al. 2021): dynamic regularisation. Every client counts the same."""
    return FederatedMethod(penalties.dynamic(strength), aggregation.uniform, optimizers.server_dynamic())


def fedcos(strength: Scalar, *, epsilon: Scalar = penalties.EPSILON, before_server: bool = False) -> FederatedMethod:
    """FedCos (Zhang et al. 2022): clients move along the last global move. Options are as in `penalties.cosine`."""
    return with_fedcos(fedavg(), strength, epsilon=epsilon, before_server=before_server)


def with_fedcos(
    method: FederatedMethod, strength: Scalar, *, epsilon: Scalar = penalties.EPSILON, before_server: bool = False
) -> FederatedMethod:
    """Adds FedCos to any method. Options are as in `penalties.cosine`."""
    cosine = penalties.cosine(strength, epsilon=epsilon, before_server=before_server)
    return method._replace(penalty=penalties.chain(method.penalty, cosine))


def paper_form(
    *,
    prox_strength: Scalar = 0.0,
    server_momentum: Scalar = 0.0,
    server_lr: Scalar = 1.0,
    cos_strength: Scalar = 0.0,
    half_proximal: bool = False,
    damped_momentum: bool = False,
    epsilon: Scalar = penalties.EPSILON,
    before_server: bool = False,
) -> FederatedMethod:
    """Any method of the paper's tables, in one structure that they all share, so that only numbers differ.

    If the numbers are traced, the nine rows of a table are one compiled program.
    """
    penalty = penalties.chain(
        penalties.proximal(prox_strength, half=half_proximal),
        penalties.cosine(cos_strength, epsilon=epsilon, before_server=before_server),
    )
    server = optimizers.server_sgd(server_lr, server_momentum, damped=damped_momentum)
    return FederatedMethod(penalty, Partial(aggregation.by_size), server)
