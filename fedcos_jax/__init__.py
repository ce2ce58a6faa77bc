"""FedCos and its peers, simulated with every client at once: a whole run is one compiled program."""

from fedcos_jax.data import federate, from_arrays, load
from fedcos_jax.errors import InputError
from fedcos_jax.methods import (
    METHODS,
    fedadam,
    fedavg,
    fedavgm,
    fedcos,
    feddyn,
    fednova,
    fedopt,
    fedprox,
    fedyogi,
    scaffold,
    with_fedcos,
)
from fedcos_jax.models import Model, from_flax
from fedcos_jax.optimizers import client_sgd
from fedcos_jax.schedule import Schedule
from fedcos_jax.simulate import Evaluation, History, run, simulate
from fedcos_jax.types import FederatedData, FederatedMethod, Penalty, RoundState

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Evaluation",
    "FederatedData",
    "FederatedMethod",
    "History",
    "InputError",
    "Model",
    "Penalty",
    "RoundState",
    "Schedule",
    "client_sgd",
    "fedadam",
    "fedavg",
    "fedavgm",
    "fedcos",
    "feddyn",
    "federate",
    "fednova",
    "fedopt",
    "fedprox",
    "fedyogi",
    "from_arrays",
    "from_flax",
    "load",
    "run",
    "scaffold",
    "simulate",
    "with_fedcos",
]
