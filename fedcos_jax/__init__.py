"""FedCos and its peers, simulated with every client at once: a whole run is one compiled program.

The names here are enough for most uses: `import fedcos_jax as fc`.
"""

from fedcos_jax import aggregation, data, labels, methods, models, optimizers, penalties
from fedcos_jax.data import Dataset, federate, from_arrays, from_huggingface, from_leaf, load, partition
from fedcos_jax.engine import devices
from fedcos_jax.engine.batches import Trial
from fedcos_jax.engine.callbacks import Report, patience, stop_at
from fedcos_jax.engine.evaluation import Evaluation, per_client
from fedcos_jax.engine.experiment import Experiment
from fedcos_jax.engine.halving import halving
from fedcos_jax.engine.loop import History, run, simulate
from fedcos_jax.engine.measures import RoundInfo
from fedcos_jax.engine.schedule import Schedule
from fedcos_jax.engine.scores import confusion, evaluate
from fedcos_jax.engine.sweep import grid, sweep
from fedcos_jax.engine.watch import DivergenceWarning
from fedcos_jax.errors import InputError
from fedcos_jax.labels import METHODS, parse
from fedcos_jax.methods import (
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
from fedcos_jax.models import (
    Metric,
    Model,
    from_equinox,
    from_flax,
    from_functions,
    from_nnx,
    losses,
    started_from,
)
from fedcos_jax.optimizers import client_sgd
from fedcos_jax.runs.opened import Checkpoint, open_checkpoint
from fedcos_jax.runs.parameters import load_params, save_params
from fedcos_jax.types import FederatedData, FederatedMethod, LocalContext, LocalMove, Penalty, RoundState, ServerMove

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Checkpoint",
    "Dataset",
    "DivergenceWarning",
    "Evaluation",
    "Experiment",
    "FederatedData",
    "FederatedMethod",
    "History",
    "InputError",
    "LocalContext",
    "LocalMove",
    "Metric",
    "Model",
    "Penalty",
    "Report",
    "RoundInfo",
    "RoundState",
    "Schedule",
    "ServerMove",
    "Trial",
    "aggregation",
    "client_sgd",
    "confusion",
    "data",
    "devices",
    "evaluate",
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
    "from_equinox",
    "from_flax",
    "from_functions",
    "from_huggingface",
    "from_leaf",
    "from_nnx",
    "grid",
    "halving",
    "labels",
    "load",
    "load_params",
    "losses",
    "methods",
    "models",
    "open_checkpoint",
    "optimizers",
    "parse",
    "partition",
    "patience",
    "penalties",
    "per_client",
    "run",
    "save_params",
    "scaffold",
    "simulate",
    "started_from",
    "stop_at",
    "sweep",
    "with_fedcos",
]
